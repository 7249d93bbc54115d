// A route handler that awaits a task: curl 'localhost:3000/shipping/DE?grams=1200'
import { answerOf, hub } from '../../../hub.mjs'

export const GET = async (request, { params }) => {
  const { country } = await params
  const grams = request.nextUrl.searchParams.get('grams') ?? undefined
  // What is no number goes as it came, for the schema of the task to refuse.
  const args = { country, grams: /^\d+$/.test(grams) ? Number(grams) : grams }
  try {
    // A visitor who leaves gives the call up.
    return Response.json(await hub().call('shipping_cost:1.0', args, { timeoutMs: 2000, signal: request.signal }))
  } catch (error) {
    return answerOf(error)
  }
}
