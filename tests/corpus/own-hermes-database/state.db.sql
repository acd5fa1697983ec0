CREATE TABLE schema_version (version INTEGER NOT NULL);
INSERT INTO schema_version (version) VALUES (6);
CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, user_id TEXT, model TEXT, model_config TEXT, system_prompt TEXT, parent_session_id TEXT, started_at REAL NOT NULL, ended_at REAL, end_reason TEXT, message_count INTEGER DEFAULT 0, tool_call_count INTEGER DEFAULT 0, input_tokens INTEGER DEFAULT 0, output_tokens INTEGER DEFAULT 0, cache_read_tokens INTEGER DEFAULT 0, cache_write_tokens INTEGER DEFAULT 0, reasoning_tokens INTEGER DEFAULT 0, title TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions(id), role TEXT NOT NULL, content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL, token_count INTEGER, finish_reason TEXT, reasoning TEXT);
INSERT INTO sessions (id, source, model, system_prompt, started_at, message_count, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, title) VALUES ('20261101_100000_abc', 'cli', 'anthropic/claude-sonnet-4-5', 'You help.', 1793527200.0, 4, 300, 90, 8000, 8200, 'keys');
INSERT INTO messages (session_id, role, content, timestamp, finish_reason) VALUES ('20261101_100000_abc', 'user', 'Sort the keys.', 1793527201.0, NULL);
INSERT INTO messages (session_id, role, content, timestamp, finish_reason) VALUES ('20261101_100000_abc', 'assistant', 'Sorted.', 1793527211.0, 'stop');
INSERT INTO messages (session_id, role, content, timestamp, finish_reason) VALUES ('20261101_100000_abc', 'user', 'And the locks.', 1793527221.0, NULL);
INSERT INTO messages (session_id, role, content, timestamp, finish_reason) VALUES ('20261101_100000_abc', 'assistant', 'Those, too.', 1793527231.0, 'stop');
