/** @type {import('next').NextConfig} */
export default {
  // It is no code of this application: Node loads it, and `instanceof HubError` holds everywhere.
  serverExternalPackages: ['pshub'],
}
