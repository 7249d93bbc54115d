import { base } from '../base.ts'

export const UnknownPage = () => (
  <>
    <h1>There is no such page</h1>
    <p>
      Go to the <a href={base}>overview</a>.
    </p>
  </>
)
