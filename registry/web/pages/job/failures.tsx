import type { JobDetail } from '../../../job-contract.ts'
import { Text, WrappedText } from '../../parts/text.tsx'
import { Moment } from '../../parts/time.tsx'
import { count } from '../../text/figures.ts'

/** Each failure that the job or the key carries, the latest first. */
export const Failures = ({ of: { errors, tries } }: { of: Pick<JobDetail, 'errors' | 'tries'> }) => {
  if (errors.length === 0) return null
  return (
    <section class="part" aria-labelledby="job-failures">
      <div class="part-head">
        <h2 id="job-failures">Tries that failed</h2>
        {tries > errors.length && (
          <span class="quiet">
            the last {count(errors.length)} of {count(tries)}
          </span>
        )}
      </div>
      <div class="scroll panel">
        <table class="rows cards">
          <thead>
            <tr>
              <th scope="col">when</th>
              <th scope="col">code</th>
              <th scope="col">message</th>
            </tr>
          </thead>
          <tbody>
            {errors.toReversed().map((error, at) => (
              <tr key={`${error.at} ${at}`}>
                <td data-name="when" class="whole">
                  <span>
                    <Moment atMs={error.at} />
                  </span>
                </td>
                <td data-name="code" class="failing">
                  <Text class="short">{error.code}</Text>
                </td>
                <td data-name="message" class="grow message">
                  <WrappedText>{error.message}</WrappedText>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}
