/** The files that hold secrets, by the configuration. */
import { expect, test } from 'vitest';
import { secretFilesOf } from '../../../config/yaml-tree.ts';

test('are those that any setting names as one, and certificates that have their key in the same file', () => {
  const settings = {
    service: {
      tokenFile: '/s/token',
      tls: { caFile: '/s/ca', certFile: '/s/cert', keyFile: '/s/key', passphraseFile: '/s/passphrase' },
    },
    redis: { passwordFile: '/s/redis', sentinel: { passwordFile: '/s/sentinel' }, tls: { certFile: '/s/both' } },
    warehouse: { passwordFile: '/s/postgres' },
    alerts: { secretFile: '/s/alerts' },
    export: { wellsFile: '/s/wells.csv', lookbackByWell: { tokenFile: 7 } },
  };
  const found = secretFilesOf(settings, { file: 'wellsync.yaml', settings });
  expect(found.map(({ called, file }) => `${called} ${file}`)).toEqual([
    'service.tokenFile /s/token',
    'service.tls.keyFile /s/key',
    'service.tls.passphraseFile /s/passphrase',
    'redis.passwordFile /s/redis',
    'redis.sentinel.passwordFile /s/sentinel',
    'redis.tls.certFile /s/both',
    'warehouse.passwordFile /s/postgres',
    'alerts.secretFile /s/alerts',
  ]);
});

test.each([
  ['service.token', { service: { token: 't' } }],
  ['service.oauth.clientSecret', { service: { oauth: { clientSecret: 's' } } }],
  ['redis.tls.passphrase', { redis: { tls: { passphrase: 'p' } } }],
  ['redis.url', { redis: { url: 'rediss://user:p@ss@redis:6379' } }],
  ['warehouse.password', { warehouse: { password: 'p' } }],
  ['alerts.url', { alerts: { url: 'https://hooks.example.com/T1/B2' } }],
  ['alerts.heartbeatUrl', { alerts: { heartbeatUrl: 'https://beat.example.com/1' } }],
])('the configuration file is one where %s is set in it', (name, own) => {
  expect(secretFilesOf({}, { file: 'wellsync.yaml', settings: own })).toEqual([
    { called: `the configuration file (${name})`, file: 'wellsync.yaml' },
  ]);
  // Of the environment alone.
  expect(secretFilesOf(own)).toEqual([]);
});

test('the configuration file is none where it holds no secret', () => {
  const own = {
    service: { url: 'https://pds.example.com' },
    redis: { url: 'redis://user@redis:6379' },
    push: { aliases: { token: 'sourceId' } },
  };
  expect(secretFilesOf(own, { file: 'wellsync.yaml', settings: own })).toEqual([]);
});
