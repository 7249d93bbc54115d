const languages: Record<string, string> = {
  'pshub-js': 'TypeScript or JavaScript',
  'pshub-python': 'Python',
  'pshub-ruby': 'Ruby',
}

/** What a worker was written with, as its card says: `pshub-python/0.1.0`. `language` is undefined for a library that is not known. */
export const clientOf = (client: string): { language: string | undefined; version: string } => {
  const at = client.indexOf('/')
  const library = at < 0 ? client : client.slice(0, at)
  const language = Object.hasOwn(languages, library) ? languages[library] : undefined
  return { language, version: at < 0 ? '' : client.slice(at + 1) }
}
