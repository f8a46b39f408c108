-- Roles, and scopes of API keys. Null: nobody has set them, so everything is as before. Servers of the release before do not know them:
-- to these, a viewer is an editor, and a key has no scopes.

alter table users add column role text check (role in ('admin', 'editor', 'viewer')),
  add constraint users_role_agrees check (role is null or (role = 'admin') = admin);
alter table bot_users add column role text check (role in ('editor', 'viewer'));
alter table api_keys add column scopes text[] collate "C";
