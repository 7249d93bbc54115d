# frozen_string_literal: true

module Pshub
  # The command was never written: certainly not run.
  class NotConnected < StandardError; end

  # The connection broke or stalled with the command under way: it may have run.
  class ConnectionLost < StandardError; end

  # Redis' own error answer, its first word included; the command was not run.
  class ReplyError < StandardError
    PASSING = %w[
      LOADING BUSY READONLY UNBLOCKED MASTERDOWN CLUSTERDOWN TRYAGAIN NOREPLICAS NOAUTH WRONGPASS MOVED ASK
    ].freeze
    WRONG_SERVER = %w[READONLY UNBLOCKED NOAUTH WRONGPASS].freeze

    def code = message[/\A\S+/].to_s
    # An answer that may be different a moment later.
    def passing? = PASSING.include?(code)
    def full? = %w[OOM MISCONF].include?(code)
    # Nothing was run.
    def no_function? = message.start_with?("ERR Function not found")
    def wrong_server? = WRONG_SERVER.include?(code)
  end
end
