/**
 * Whether a number is a whole multiple of a step, of the numbers as they are written: 19.99 is one of 0.01, though their binary
 * fractions divide to 1998.9999999999998.
 */
export const isMultiple = (value: number, step: number): boolean => {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(step)) return value % step === 0
  if (!Number.isFinite(value) || !Number.isFinite(step)) return false
  const [digits, exponent] = decimal(value)
  const [stepDigits, stepExponent] = decimal(step)
  const least = Math.min(exponent, stepExponent)
  return (digits * 10n ** BigInt(exponent - least)) % (stepDigits * 10n ** BigInt(stepExponent - least)) === 0n
}

/** The shortest digits that are read as this number, and the power of ten they are multiplied with. */
const decimal = (value: number): [bigint, number] => {
  const [digits, exponent] = value.toExponential().split('e') as [string, string]
  const fraction = digits.split('.')[1] ?? ''
  return [BigInt(digits.replace('.', '')), Number(exponent) - fraction.length]
}
