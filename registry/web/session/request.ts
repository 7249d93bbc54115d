import type { ApiError } from '../../contract.ts'
import { at } from '../address/paths.ts'
import { jsonText, readExact } from '../json/exact.ts'
import { access, session } from './access.ts'

/** What the service refused, or that it cannot be reached. */
export class ApiFailure extends Error {
  readonly status: number

  constructor(status: number, detail: string) {
    super(detail)
    this.status = status
  }
}

/** Sends a request to the API. Throws ApiFailure. */
export const request = <T>(path: string, init: RequestInit = {}): Promise<T> => requestAt(`api/${path}`, init)

/** The same of what the service has beside its API. */
export const requestAt = async <T>(path: string, init: RequestInit = {}): Promise<T> => {
  const response = await sendAt(path, init)
  const text = await response.text()
  if (response.ok) return parse(text) as T
  if (response.status === 401) {
    session.value = undefined
    access.value = 'out'
  }
  throw failureOf(response.status, text)
}

/** What an answer that is not 2xx says. */
export const failureOf = (status: number, text: string): ApiFailure => {
  const { detail } = (parse(text) ?? {}) as Partial<ApiError>
  return new ApiFailure(status, typeof detail === 'string' ? detail : `The registry answered ${status}.`)
}

export const post = <T>(path: string, body: unknown, init: RequestInit = {}): Promise<T> =>
  request(path, {
    ...init,
    method: 'POST',
    headers: { 'content-type': 'application/json', ...init.headers },
    body: jsonText(body),
  })

/** The answer itself, whatever its status. Throws ApiFailure when there is none. */
export const send = (path: string, init: RequestInit): Promise<Response> => sendAt(`api/${path}`, init)

const sendAt = async (path: string, init: RequestInit): Promise<Response> => {
  try {
    return await fetch(at(path), init)
  } catch (error) {
    if ((error as Error).name === 'AbortError') throw error
    throw new ApiFailure(0, 'The registry cannot be reached.')
  }
}

const parse = (text: string): unknown => {
  try {
    return readExact(text)
  } catch {
    return undefined
  }
}
