// Time zones and civil dates, through the zone data that Node carries.
const partsIn = (timeZone, instant) => {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    weekday: 'long',
    timeZoneName: 'longOffset',
  })
  return Object.fromEntries(format.formatToParts(instant).map(({ type, value }) => [type, value]))
}

/**
 * What a clock on the wall and a calendar beside it show there.
 *
 * @param {string} timeZone
 * @param {Date} instant
 */
export const localTime = (timeZone, instant) => {
  const { year, month, day, hour, minute, weekday, timeZoneName } = partsIn(timeZone, instant)
  return {
    timeZone,
    date: `${year}-${month}-${day}`,
    time: `${hour}:${minute}`,
    weekday,
    utcOffset: timeZoneName === 'GMT' ? '+00:00' : timeZoneName.replace('GMT', ''),
  }
}
