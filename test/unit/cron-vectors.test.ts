import { describe, expect, it } from 'vitest'
import { nextOf, tickOf } from '../../src/jobs/cron.ts'
import { failureOf } from '../support/failure-of.ts'
