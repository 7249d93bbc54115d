// A route handler that awaits a task: curl 'localhost:3000/shipping/DE?grams=1200'
import { callOptionsOf, problemResponse, sharedHub } from 'pshub/http'

export const GET = async (request, { params }) => {
  const { country } = await params
  const grams = request.nextUrl.searchParams.get('grams') ?? undefined
  // What is no number goes as it came, for the schema of the task to refuse.
  const args = { country, grams: /^\d+$/.test(grams) ? Number(grams) : grams }
  try {
    // One for the process, and `next dev`, which loads this file again after each change.
    const hub = sharedHub({ name: 'next' })
    // A visitor who leaves gives the call up; one who says how long they wait is answered by then.
    return Response.json(await hub.call('shipping_cost:1.0', args, callOptionsOf(request, { timeoutMs: 2000 })))
  } catch (error) {
    // What is no HubError is a mistake in this code: it is thrown on, to Next.js.
    return problemResponse(error)
  }
}
