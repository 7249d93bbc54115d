# frozen_string_literal: true

require "pshub"

# What the caller of clients/CONFORMANCE.md does with jobs.
class CallerJobs
  def initialize(hub)
    @hub = hub
  end

  # Never raises a HubError.
  def run(order)
    { ok: true, **public_send("on_#{order['do']}", order) }
  rescue Pshub::HubError => e
    told = { code: e.code, ran: e.ran, retryable: e.retryable, status: e.http_status, message: e.message, data: e.data }
    { ok: false, error: told }
  end

  def on_enqueue(order)
    task, args, options = entry_of(order)
    job = @hub.enqueue(task, args, **options)
    { job: job.id, queue: job.queue, task: job.task, twin: job.twin? }
  end

  def on_chain(order)
    chain = @hub.chain(order["entries"].map { |each| entry_of(each) })
    { job: chain.id, jobs: chain.steps.map(&:id) }
  end

  def on_batch(order)
    behind = %w[then failed].filter_map { |name| [name.to_sym, entry_of(order[name])] if order[name] }.to_h
    batch = @hub.batch(order["entries"].map { |each| entry_of(each) }, **behind)
    { jobs: batch.ids, after: batch.after&.id, failed: batch.failed&.id }
  end

  def on_status(order)
    status = job_of(order).status
    { state: status.state, tries: status.tries, code: status.error && status.error["code"] }
  end

  def on_result(order) = { result: text(job_of(order).result(timeout_ms: order["timeout_ms"])) }
  def on_cancel(order) = { cancelled: job_of(order).cancel }

  def on_key(order)
    status = @hub.key(order["task"], order["key"], queue: order["queue"]).status
    { queue: status.queue, state: status.state, waiting: status.waiting }
  end

  def on_dead(order)
    { dead: @hub.dead(order["queue"]).list.map do |job|
      { job: job.id, task: job.task, args: text(job.args), tries: job.tries, following: job.following,
        codes: job.errors.map { |error| error["code"] } }
    end }
  end

  def on_retry(order)
    given = order.key?("args") ? { args: parsed(order["args"]) } : {}
    { count: @hub.dead(order["queue"]).retry(ids: order["ids"], **given) }
  end

  def on_schedule(order)
    task, args, options = entry_of(order)
    { next_ms: @hub.schedule(order["name"], order["times"], task, args, **options).next_ms }
  end

  def on_schedules(order)
    { schedules: @hub.schedules(order["queue"]).list.map { |each| { name: each.name, cron: each.cron, next_ms: each.next_ms } } }
  end

  def on_unschedule(order) = { removed: @hub.schedules(order["queue"]).remove(order["name"]) }

  private

  def entry_of(order) = [order["task"], parsed(order["args"]), symbols(order["options"] || {})]
  def job_of(order) = @hub.job(order["job"], queue: order["queue"])
  def parsed(json) = JSON.parse(json, max_nesting: 0)
  def text(value) = JSON.generate(value, max_nesting: 0)
  def symbols(options) = options.to_h { |name, value| [name.to_sym, value.is_a?(Hash) ? symbols(value) : value] }
end
