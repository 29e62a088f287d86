// Checks the TLS certificate and key, and by what clients' certificates are judged, before anything is started, so that a fault is reported under the name of its
// setting.
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { authoritiesOf, revocationListsOf } from '../base/network/certificates.ts';
import type { Config } from './config.ts';

/** The faults of the files that the settings of TLS name; empty when they are valid, or not set. */
export function tlsFaults({ tlsCert, tlsKey, mqttClientCa, mqttClientCrl }: Config): string[] {
  if (tlsCert === '') return [];
  const faults: string[] = [];
  const parse = <T>(name: string, file: string, read: (pem: Buffer) => T): T | undefined => {
    try {
      return read(readFileSync(file));
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      const isUnread = code?.startsWith('E') === true && !code.startsWith('ERR_');
      faults.push(
        `${name}: ${JSON.stringify(file)} ${isUnread ? 'cannot be read' : 'must be a file in PEM form, the key without a passphrase'} (${message}).`,
      );
      return undefined;
    }
  };
  const certificate = parse('DUNDUN_TLS_CERT', tlsCert, (pem) => new X509Certificate(pem));
  const key: KeyObject | undefined = parse('DUNDUN_TLS_KEY', tlsKey, (pem) => createPrivateKey(pem));
  if (certificate !== undefined && key !== undefined && !certificate.checkPrivateKey(key)) {
    faults.push('DUNDUN_TLS_CERT and DUNDUN_TLS_KEY: the key is not that of the certificate.');
  }
  if (mqttClientCa !== '') parse('DUNDUN_MQTT_CLIENT_CA', mqttClientCa, authoritiesOf);
  if (mqttClientCrl !== '') parse('DUNDUN_MQTT_CLIENT_CRL', mqttClientCrl, revocationListsOf);
  return faults;
}
