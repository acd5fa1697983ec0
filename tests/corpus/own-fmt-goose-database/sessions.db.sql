CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', working_dir TEXT NOT NULL, total_tokens INTEGER, accumulated_total_tokens INTEGER, provider_name TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL, content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL, metadata_json TEXT);
INSERT INTO sessions (id, working_dir, total_tokens) VALUES ('20261101_1', '/srv/inn', 2030);
INSERT INTO messages (session_id, role, content_json, created_timestamp) VALUES ('20261101_1', 'user', '[{"type":"text","text":"Sort."}]', 1793527200);
