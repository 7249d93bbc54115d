/** The patterns of schedules, which all languages read alike. PROTOCOL.md, section 10.14. */

const nicknames: Record<string, string> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}
const months = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
const days = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']

interface Field {
  name: string
  least: number
  most: number
  /** Of the first values. */
  names: readonly string[]
  /** For people: what it takes beside numbers. */
  more: string
  /** What there is beside numbers, names, ranges and steps. */
  special?: RegExp
}

const fields: readonly Field[] = [
  { name: 'second', least: 0, most: 59, names: [], more: '' },
  { name: 'minute', least: 0, most: 59, names: [], more: '' },
  { name: 'hour', least: 0, most: 23, names: [], more: '' },
  { name: 'day of month', least: 1, most: 31, names: [], more: ', L', special: /^L$/ },
  { name: 'month', least: 1, most: 12, names: months, more: ', names as JAN' },
  {
    name: 'day of week',
    least: 0,
    most: 7,
    names: days,
    more: ', names as MON, 1#2, 5L',
    special: /^(?:[0-7]|SUN|MON|TUE|WED|THU|FRI|SAT)(?:#[1-5]|L)$/,
  },
]
const itemPattern = /^(?:\*|(\d{1,2}|[A-Z]{3})(?:-(\d{1,2}|[A-Z]{3}))?)(?:\/(\d{1,2}))?$/

/**
 * croner knows more than what libraries of other languages agree about, and a worker in any of them keeps a schedule up: what is not
 * understood alike everywhere is refused.
 * @returns the pattern in five or six fields
 * @throws Error whose message ends a sentence, without a full stop
 */
export const readPattern = (cron: string): string => {
  const texts = (nicknames[cron.trim().toLowerCase()] ?? cron).toUpperCase().replaceAll('?', '*').trim().split(/\s+/)
  if (texts.length !== 5 && texts.length !== 6)
    throw new Error(
      'it must have five fields (minute, hour, day of month, month, day of week), or six with seconds in front',
    )
  for (const [at, text] of texts.entries())
    for (const item of text.split(',')) checkItem(fields[at + 6 - texts.length]!, item)
  return texts.join(' ')
}

const checkItem = (field: Field, item: string): void => {
  if (field.special?.test(item)) return
  const { name, least, most, more } = field
  const takes = `it takes ${least} to ${most}${more}, *, lists, ranges as 1-5 and steps as */2 or 1-5/2`
  const wrong = new Error(`its ${name} cannot be '${item.slice(0, 40)}'; ${takes}`)
  const match = itemPattern.exec(item)
  if (!match) throw wrong
  const [, first, last, step] = match
  const low = first === undefined ? least : numberOf(field, first)
  // A week may end with a Sunday.
  const high = last === 'SUN' ? 7 : last === undefined ? low : numberOf(field, last)
  const size = most - least + (most === 7 ? 0 : 1)
  const every = step === undefined ? 1 : Number(step)
  const isStepOfOne = step !== undefined && first !== undefined && last === undefined
  if (!(low <= high) || every < 1 || every > size || isStepOfOne) throw wrong
}

/** NaN for what is none. */
const numberOf = ({ least, most, names }: Field, text: string): number => {
  const named = names.indexOf(text)
  if (named >= 0) return named + least
  const number = Number(text)
  return number >= least && number <= most ? number : Number.NaN
}

/** Names of time zones by their first part, as the IANA database writes them, those for old programs included: Intl takes any letters, other languages these alone. */
const zones: Record<string, string> = {
  '':
    'CET CST6CDT Cuba EET EST EST5EDT Egypt Eire GB GB-Eire GMT GMT+0 GMT-0 GMT0 Greenwich HST Hongkong Iceland Iran Israel Jamaica ' +
    'Japan Kwajalein Libya MET MST MST7MDT NZ NZ-CHAT Navajo PRC PST8PDT Poland Portugal ROC ROK Singapore Turkey UCT UTC Universal ' +
    'W-SU WET Zulu',
  Africa:
    'Abidjan Accra Addis_Ababa Algiers Asmara Asmera Bamako Bangui Banjul Bissau Blantyre Brazzaville Bujumbura Cairo Casablanca Ceuta ' +
    'Conakry Dakar Dar_es_Salaam Djibouti Douala El_Aaiun Freetown Gaborone Harare Johannesburg Juba Kampala Khartoum Kigali Kinshasa ' +
    'Lagos Libreville Lome Luanda Lubumbashi Lusaka Malabo Maputo Maseru Mbabane Mogadishu Monrovia Nairobi Ndjamena Niamey Nouakchott ' +
    'Ouagadougou Porto-Novo Sao_Tome Timbuktu Tripoli Tunis Windhoek',
  America:
    'Adak Anchorage Anguilla Antigua Araguaina Argentina/Buenos_Aires Argentina/Catamarca Argentina/ComodRivadavia Argentina/Cordoba ' +
    'Argentina/Jujuy Argentina/La_Rioja Argentina/Mendoza Argentina/Rio_Gallegos Argentina/Salta Argentina/San_Juan Argentina/San_Luis ' +
    'Argentina/Tucuman Argentina/Ushuaia Aruba Asuncion Atikokan Atka Bahia Bahia_Banderas Barbados Belem Belize Blanc-Sablon Boa_Vista ' +
    'Bogota Boise Buenos_Aires Cambridge_Bay Campo_Grande Cancun Caracas Catamarca Cayenne Cayman Chicago Chihuahua Ciudad_Juarez ' +
    'Coral_Harbour Cordoba Costa_Rica Coyhaique Creston Cuiaba Curacao Danmarkshavn Dawson Dawson_Creek Denver Detroit Dominica ' +
    'Edmonton Eirunepe El_Salvador Ensenada Fort_Nelson Fort_Wayne Fortaleza Glace_Bay Godthab Goose_Bay Grand_Turk Grenada Guadeloupe ' +
    'Guatemala Guayaquil Guyana Halifax Havana Hermosillo Indiana/Indianapolis Indiana/Knox Indiana/Marengo Indiana/Petersburg ' +
    'Indiana/Tell_City Indiana/Vevay Indiana/Vincennes Indiana/Winamac Indianapolis Inuvik Iqaluit Jamaica Jujuy Juneau ' +
    'Kentucky/Louisville Kentucky/Monticello Knox_IN Kralendijk La_Paz Lima Los_Angeles Louisville Lower_Princes Maceio Managua Manaus ' +
    'Marigot Martinique Matamoros Mazatlan Mendoza Menominee Merida Metlakatla Mexico_City Miquelon Moncton Monterrey Montevideo ' +
    'Montreal Montserrat Nassau New_York Nipigon Nome Noronha North_Dakota/Beulah North_Dakota/Center North_Dakota/New_Salem Nuuk ' +
    'Ojinaga Panama Pangnirtung Paramaribo Phoenix Port-au-Prince Port_of_Spain Porto_Acre Porto_Velho Puerto_Rico Punta_Arenas ' +
    'Rainy_River Rankin_Inlet Recife Regina Resolute Rio_Branco Rosario Santa_Isabel Santarem Santiago Santo_Domingo Sao_Paulo ' +
    'Scoresbysund Shiprock Sitka St_Barthelemy St_Johns St_Kitts St_Lucia St_Thomas St_Vincent Swift_Current Tegucigalpa Thule ' +
    'Thunder_Bay Tijuana Toronto Tortola Vancouver Virgin Whitehorse Winnipeg Yakutat Yellowknife',
  Antarctica: 'Casey Davis DumontDUrville Macquarie Mawson McMurdo Palmer Rothera South_Pole Syowa Troll Vostok',
  Arctic: 'Longyearbyen',
  Asia:
    'Aden Almaty Amman Anadyr Aqtau Aqtobe Ashgabat Ashkhabad Atyrau Baghdad Bahrain Baku Bangkok Barnaul Beirut Bishkek Brunei ' +
    'Calcutta Chita Choibalsan Chongqing Chungking Colombo Dacca Damascus Dhaka Dili Dubai Dushanbe Famagusta Gaza Harbin Hebron ' +
    'Ho_Chi_Minh Hong_Kong Hovd Irkutsk Istanbul Jakarta Jayapura Jerusalem Kabul Kamchatka Karachi Kashgar Kathmandu Katmandu Khandyga ' +
    'Kolkata Krasnoyarsk Kuala_Lumpur Kuching Kuwait Macao Macau Magadan Makassar Manila Muscat Nicosia Novokuznetsk Novosibirsk Omsk ' +
    'Oral Phnom_Penh Pontianak Pyongyang Qatar Qostanay Qyzylorda Rangoon Riyadh Saigon Sakhalin Samarkand Seoul Shanghai Singapore ' +
    'Srednekolymsk Taipei Tashkent Tbilisi Tehran Tel_Aviv Thimbu Thimphu Tokyo Tomsk Ujung_Pandang Ulaanbaatar Ulan_Bator Urumqi ' +
    'Ust-Nera Vientiane Vladivostok Yakutsk Yangon Yekaterinburg Yerevan',
  Atlantic: 'Azores Bermuda Canary Cape_Verde Faeroe Faroe Jan_Mayen Madeira Reykjavik South_Georgia St_Helena Stanley',
  Australia:
    'ACT Adelaide Brisbane Broken_Hill Canberra Currie Darwin Eucla Hobart LHI Lindeman Lord_Howe Melbourne NSW North Perth Queensland ' +
    'South Sydney Tasmania Victoria West Yancowinna',
  Brazil: 'Acre DeNoronha East West',
  Canada: 'Atlantic Central Eastern Mountain Newfoundland Pacific Saskatchewan Yukon',
  Chile: 'Continental EasterIsland',
  Etc:
    'GMT GMT+0 GMT+1 GMT+10 GMT+11 GMT+12 GMT+2 GMT+3 GMT+4 GMT+5 GMT+6 GMT+7 GMT+8 GMT+9 GMT-0 GMT-1 GMT-10 GMT-11 GMT-12 GMT-13 ' +
    'GMT-14 GMT-2 GMT-3 GMT-4 GMT-5 GMT-6 GMT-7 GMT-8 GMT-9 GMT0 Greenwich UCT UTC Universal Zulu',
  Europe:
    'Amsterdam Andorra Astrakhan Athens Belfast Belgrade Berlin Bratislava Brussels Bucharest Budapest Busingen Chisinau Copenhagen ' +
    'Dublin Gibraltar Guernsey Helsinki Isle_of_Man Istanbul Jersey Kaliningrad Kiev Kirov Kyiv Lisbon Ljubljana London Luxembourg ' +
    'Madrid Malta Mariehamn Minsk Monaco Moscow Nicosia Oslo Paris Podgorica Prague Riga Rome Samara San_Marino Sarajevo Saratov ' +
    'Simferopol Skopje Sofia Stockholm Tallinn Tirane Tiraspol Ulyanovsk Uzhgorod Vaduz Vatican Vienna Vilnius Volgograd Warsaw Zagreb ' +
    'Zaporozhye Zurich',
  Indian: 'Antananarivo Chagos Christmas Cocos Comoro Kerguelen Mahe Maldives Mauritius Mayotte Reunion',
  Mexico: 'BajaNorte BajaSur General',
  Pacific:
    'Apia Auckland Bougainville Chatham Chuuk Easter Efate Enderbury Fakaofo Fiji Funafuti Galapagos Gambier Guadalcanal Guam Honolulu ' +
    'Johnston Kanton Kiritimati Kosrae Kwajalein Majuro Marquesas Midway Nauru Niue Norfolk Noumea Pago_Pago Palau Pitcairn Pohnpei ' +
    'Ponape Port_Moresby Rarotonga Saipan Samoa Tahiti Tarawa Tongatapu Truk Wake Wallis Yap',
  US: 'Alaska Aleutian Arizona Central East-Indiana Eastern Hawaii Indiana-Starke Michigan Mountain Pacific Samoa',
}

const knownZones = new Set(
  Object.entries(zones).flatMap(([region, rest]) =>
    rest.split(' ').map(name => (region === '' ? name : `${region}/${name}`)),
  ),
)

/** Whether a name is one of the IANA database, in its own letters; one that is newer than this list is known by the name that Intl itself has for it. */
export const isZoneName = (name: string): boolean =>
  knownZones.has(name) || Intl.supportedValuesOf('timeZone').includes(name)
