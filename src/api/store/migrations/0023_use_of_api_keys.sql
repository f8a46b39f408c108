-- What tells keys apart, and whether one is still in use. Both are null for a key that an earlier release made or served.

alter table api_keys
  -- The first characters of the token.
  add column token_prefix text,
  -- To the hour, so that a key in use costs one write an hour (last-use.ts). A write of it is no change of the key.
  add column last_used_at timestamptz;
