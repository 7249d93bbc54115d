// Nearest neighbours through a k-d tree, so that a search looks at some dozens of the places and not at all of them.
import { around, distance } from 'geokdbush'
import KDBush from 'kdbush'
import { cities, standsAlone } from './cities.mjs'

const tree = new KDBush(cities.length)
for (const { longitude, latitude } of cities) tree.add(longitude, latitude)
tree.finish()

const radians = degrees => (degrees * Math.PI) / 180
const directions = ['north', 'north-east', 'east', 'south-east', 'south', 'south-west', 'west', 'north-west']

/** Initial bearing of the great circle, in degrees clockwise from north. */
export const bearing = (from, to) => {
  const turn = radians(to.longitude - from.longitude)
  const [fromLat, toLat] = [radians(from.latitude), radians(to.latitude)]
  const east = Math.sin(turn) * Math.cos(toLat)
  const north = Math.cos(fromLat) * Math.sin(toLat) - Math.sin(fromLat) * Math.cos(toLat) * Math.cos(turn)
  return ((Math.atan2(east, north) * 180) / Math.PI + 360) % 360
}

export const compass = degrees => directions[Math.round(degrees / 45) % 8]

/**
 * @param {import('./cities.mjs').City} city
 * @param {number} count
 * @param {number} minPopulation
 */
export const neighboursOf = (city, count, minPopulation) => {
  const wanted = index => {
    const other = cities[index]
    return other !== city && standsAlone(other) && (other.population ?? 0) >= minPopulation
  }
  return around(tree, city.longitude, city.latitude, count, Infinity, wanted).map(index => {
    const other = cities[index]
    const km = distance(city.longitude, city.latitude, other.longitude, other.latitude)
    const bearingDegrees = Math.round(bearing(city, other)) % 360
    return { city: other, km: Math.round(km * 10) / 10, bearingDegrees, direction: compass(bearingDegrees) }
  })
}
