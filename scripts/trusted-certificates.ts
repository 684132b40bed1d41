/** Certificate authorities that the runtime trusts in addition to those of browsers: `NODE_EXTRA_CA_CERTS`, as in Node. */
import { readFileSync } from "node:fs";

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** In PEM. Throws if the file cannot be read, or has none. */
export function trustedCertificates(file: string | undefined): string[] {
	if (!file) return [];
	const found = readFileSync(file, "utf8").match(CERTIFICATE);
	if (!found) throw new Error(`NODE_EXTRA_CA_CERTS: ${file} has no certificate in PEM format`);
	return found.map((certificate) => `${certificate}\n`);
}
