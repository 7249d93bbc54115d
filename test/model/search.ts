const { PSHUB_MODEL_RUNS, PSHUB_MODEL_SEED, PSHUB_MODEL_PATH } = process.env

/**
 * How a model searches for a run that fails. A failure prints its seed and path, which PSHUB_MODEL_SEED and PSHUB_MODEL_PATH take to see it
 * again.
 * @param share of PSHUB_MODEL_RUNS, which makes all models search for longer: npm run test:all takes 2,000
 */
export const searchOf = (share: number) => ({
  numRuns: Math.round(Number(PSHUB_MODEL_RUNS ?? 400) * share),
  ...(PSHUB_MODEL_SEED === undefined ? {} : { seed: Number(PSHUB_MODEL_SEED) }),
  ...(PSHUB_MODEL_PATH === undefined ? {} : { path: PSHUB_MODEL_PATH }),
})
