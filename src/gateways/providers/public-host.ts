/**
 * Whether a host may be in the public internet, by its name or its literal address. A public name can still resolve to a private
 * address: in a deployment without Cloudflare, the binding `PUBLIC_INTERNET` refuses to connect to those.
 */

/** Names that are reserved for local networks (RFC 6761, 6762, 8375, 9476, and `.internal`), and the usual ones. */
const LOCAL_NAME =
	/(?:^|\.)(?:localhost|local|localdomain|internal|intranet|lan|home|corp|private|arpa|test|invalid|onion)$/;
const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;

/** Ranges without a public host: first address and length of the prefix (RFC 6890). */
const RESERVED_IPV4: readonly (readonly [string, number])[] = [
	["0.0.0.0", 8],
	["10.0.0.0", 8],
	["100.64.0.0", 10],
	["127.0.0.0", 8],
	["169.254.0.0", 16],
	["172.16.0.0", 12],
	["192.0.0.0", 24],
	["192.0.2.0", 24],
	["192.88.99.0", 24],
	["192.168.0.0", 16],
	["198.18.0.0", 15],
	["198.51.100.0", 24],
	["203.0.113.0", 24],
	["224.0.0.0", 3],
];

const numberOf = (address: string): number =>
	address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);

const isReserved = (address: string): boolean =>
	RESERVED_IPV4.some(
		([first, length]) =>
			Math.floor(numberOf(address) / 2 ** (32 - length)) === Math.floor(numberOf(first) / 2 ** (32 - length)),
	);

/** `hostname`: of a `URL`, so that every spelling of an IPv4 address has four decimal numbers. Literal IPv6 addresses are refused. */
export function isPublicHost(hostname: string): boolean {
	if (hostname.startsWith("[")) return false;
	if (IPV4.test(hostname)) return !isReserved(hostname);
	const name = withoutDots(hostname).toLowerCase();
	return name.includes(".") && !LOCAL_NAME.test(name);
}

/** A name with a final dot is the same name. A resolver may ignore further dots. */
const withoutDots = (host: string): string => host.replace(/\.{1,253}(?=:\d+$|$)/, "");

/** Why an account may not name this address as that of a custom provider or of a collector. */
export function addressProblem(
	address: string,
	{ allowPrivateAddresses, publicUrl }: { allowPrivateAddresses: boolean; publicUrl?: string | undefined },
): string | undefined {
	const { hostname, host, protocol } = new URL(address);
	if (publicUrl !== undefined) {
		const own = new URL(publicUrl);
		// The gateway would call itself. It may listen on several ports, and in a private network other servers may have the others.
		const isOwn = allowPrivateAddresses
			? withoutDots(host) === withoutDots(own.host)
			: withoutDots(hostname) === withoutDots(own.hostname);
		if (isOwn) return "is the address of this gateway";
	}
	if (allowPrivateAddresses) return undefined;
	const exception = "which is possible only if the operator sets AI_GATEWAY.allow_private_addresses";
	if (protocol !== "https:") return `does not begin with https://, ${exception}`;
	return isPublicHost(hostname) ? undefined : `is not a public address, ${exception}`;
}
