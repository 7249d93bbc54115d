# frozen_string_literal: true

# What the web server asks: pshub-worker-rb worker.rb
CENTS_PER_KILO = { "DE" => 490, "FR" => 690, "US" => 1490 }.freeze

task "shipping_cost:1.0",
     args: {
       type: "object",
       properties: { country: { type: "string", pattern: "^[A-Z]{2}$" }, grams: { type: "integer", minimum: 1, maximum: 30_000 } },
       required: %w[country grams], additionalProperties: false
     },
     description: "What it costs to send a parcel to a country.", idempotent: true do |args|
  cents = CENTS_PER_KILO[args["country"]]
  raise Pshub::TaskError.new("Nothing is sent to #{args["country"]}.", code: "NoSuchCountry", http_status: 404) unless cents

  { cents: cents * (args["grams"] / 1000.0).ceil }
end
