// A route handler that awaits a task: curl 'localhost:3000/shipping/DE?grams=1200'
import { callOptionsOf, problemResponse, sharedHub } from 'pshub/http'

export const GET = async (request, { params }) => {
  const { country } = await params
  const grams = request.nextUrl.searchParams.get('grams') ?? undefined
  // Anything but a number is passed on, for the task's schema to reject.
  const args = { country, grams: /^\d+$/.test(grams) ? Number(grams) : grams }
  try {
    // One hub per process, even when `next dev` loads this file again.
    const hub = sharedHub({ name: 'next' })
    // A visitor who leaves cancels the call; `pshub-timeout-ms` shortens it.
    return Response.json(await hub.call('shipping_cost:1.0', args, callOptionsOf(request, { timeoutMs: 2000 })))
  } catch (error) {
    // Errors that are not from a call are thrown on, to Next.js.
    return problemResponse(error)
  }
}
