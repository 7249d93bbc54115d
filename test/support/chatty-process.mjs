// Logs more than a pipe holds, and ends in the same moment.
import { makeLogger } from '../../dist/outlets/log.js'

const log = makeLogger({ logLevel: 'info', logFormat: process.env.PSHUB_LOG_FORMAT })
for (let n = 1; n <= 2000; n++) log.info({ n, filler: 'x'.repeat(50) }, 'line')
process.exit(3)
