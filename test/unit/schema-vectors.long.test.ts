import { expect, it } from 'vitest'
import { allSchemas, isSlow, judgeVector } from '../support/schema-vectors.ts'

const slow = allSchemas.filter(isSlow)

it.each(slow)('$file', { timeout: 120_000 }, judgeVector)

it('are three', () => expect(slow).toHaveLength(3))
