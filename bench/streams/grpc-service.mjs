// The service that is measured. Messages are JSON, so that both sides encode the same way.
const encode = value => Buffer.from(JSON.stringify(value))
const decode = bytes => JSON.parse(bytes.toString())
const method = (name, responseStream) => ({
  path: `/bench/${name}`,
  requestStream: false,
  responseStream,
  requestSerialize: encode,
  requestDeserialize: decode,
  responseSerialize: encode,
  responseDeserialize: decode,
})

export const service = { blank: method('blank', false), chunks: method('chunks', true) }
