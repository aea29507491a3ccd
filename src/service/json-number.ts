/** Reads a number of JSON (RFC 8259 section 6) from bytes, to the same double as JSON.parse. */

const [plus, minus, period, zero, nine, largeE, smallE] = [0x2b, 0x2d, 0x2e, 0x30, 0x39, 0x45, 0x65];

/** A whole number of so many digits is exact in a double, and so is a power of ten up to 10^22. */
const exactDigits = 15;
const exactPowers = Float64Array.from({ length: 23 }, (_, power) => Number(`1e${power}`));
/** No exponent beyond it changes a number of few digits: it is 0 or infinite. */
const mostExponent = 100_000;

/**
 * Reads the number that begins at `start` and writes it to `target[place]`; it may be -0 or infinite. Returns the position
 * behind it; -1 where no number of JSON begins.
 */
export function readNumber(bytes: Buffer, start: number, target: Float64Array, place: number): number {
  const isNegative = bytes[start] === minus;
  let at = isNegative ? start + 1 : start;
  const wholeAt = at;
  let code = bytes[at] ?? 0;
  let mantissa = 0;
  if (code === zero) code = bytes[(at += 1)] ?? 0;
  else {
    for (; code >= zero && code <= nine; code = bytes[(at += 1)] ?? 0) mantissa = mantissa * 10 + (code - zero);
  }
  let digits = at - wholeAt;
  if (digits === 0) return -1;
  let exponent = 0;
  if (code === period) {
    const fractionAt = at + 1;
    code = bytes[(at += 1)] ?? 0;
    for (; code >= zero && code <= nine; code = bytes[(at += 1)] ?? 0) mantissa = mantissa * 10 + (code - zero);
    exponent = fractionAt - at;
    if (exponent === 0) return -1;
    digits -= exponent;
  }
  if (code === smallE || code === largeE) {
    const end = exponentEnd(bytes, at + 1);
    if (end < 0) return -1;
    exponent += exponentIn(bytes, at + 1, end);
    at = end;
  }
  if (digits > exactDigits || exponent < -22 || exponent > 22)
    target[place] = Number(bytes.toString('latin1', start, at));
  else {
    // One operation on two exact numbers is rounded once, and so correctly.
    const value = exponent < 0 ? mantissa / (exactPowers[-exponent] ?? 1) : mantissa * (exactPowers[exponent] ?? 1);
    target[place] = isNegative ? -value : value;
  }
  return at;
}

/** The position behind the exponent, sign included, that begins at `start`; -1 where none does. */
function exponentEnd(bytes: Buffer, start: number): number {
  const first = bytes[start] === minus || bytes[start] === plus ? start + 1 : start;
  let at = first;
  for (let code = bytes[at] ?? 0; code >= zero && code <= nine; code = bytes[at] ?? 0) at += 1;
  return at === first ? -1 : at;
}

function exponentIn(bytes: Buffer, start: number, end: number): number {
  const isNegative = bytes[start] === minus;
  let value = 0;
  for (let at = isNegative || bytes[start] === plus ? start + 1 : start; at < end && value < mostExponent; at += 1)
    value = value * 10 + ((bytes[at] ?? 0) - zero);
  return isNegative ? -value : value;
}
