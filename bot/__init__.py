"""Kaiwa's bot. Imports run from the top of this map to the bottom; ``docs/architecture.md`` explains it.

    bot/cli               main commands evals new_tool add_api
    bot                   supervisor processes app worker plugins hooks
    bot/evals             questions judge canned runner report results
    bot/ops               doctor startup dead_letters usage eviction call_tool mcp_servers
    bot/mcp_server        server route
    bot/web               server port connections guard signin console_token page health files
    bot/terminal          chat exchange background keyboard machine markdown plain_screen reports rich_screen
    bot/conversation      intake runner services turns answering sources triage inbound media allowance file_text
                          journal approvals review quoting commands history summarizer edits memory lists limits
                          admission cancellation delivery alerts reminders files polls
    bot/agent             loop turn tool_runner reasons hooks
    bot/channels          registry traffic utf16
    bot/channels/line     channel types events inbound client lookups files formatting text pictures approvals
                          polls delivery presence doctor
    bot/channels/slack    channel types events inbound transport client lookups files formatting approvals polls
                          messages delivery uploads presence streaming assistant tasks doctor
    bot/channels/console  channel entries inbound live sse
    bot/providers         registry fallback retry_policy scripted
    bot/providers/shared  entry failures httpx2_client request response schema_dialect server_tools size_limits
                          streaming
    bot/store             keys scripts clients queues inbox leases journal history outbox dead_letters live kv
                          facts lists polls tool_pins reminders budget memory frames personal_data private rewriting
                          embedded docket_keys files
    bot/safe_text         arguments glyphs names quotations
    bot                   settings telemetry tasks locks transcript file_types commands live_events checks log clock
                          http errors

Each vendor of models has a folder of its own in ``bot/providers``.
"""
