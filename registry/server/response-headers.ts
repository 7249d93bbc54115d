/** Where a browser came by TLS it is to do so from now on, for a year. */
export const strictTransport = { 'strict-transport-security': 'max-age=31536000' }

/**
 * On every response. Scripts, styles and images come from the pages' own files only, and nothing is ever put into a page as
 * HTML: the one policy of Trusted Types starts the worker that checks forms.
 */
export const securityHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "worker-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types pshub',
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  // Files of the pages say something else.
  'cache-control': 'no-store',
}
