/** The address by which connections are counted. A caller with IPv6 may use each address of its network (64 bits): they are one. */
import { isIPv6 } from "node:net";

const MAPPED = "::ffff:";
const GROUPS = 8;
const GROUPS_OF_NETWORK = 4;

export function callerAddress(remote = ""): string {
	if (remote.startsWith(MAPPED)) return remote.slice(MAPPED.length);
	if (!isIPv6(remote)) return remote;
	const [first, last] = remote.split("::");
	const [groups, groupsAtEnd] = [groupsOf(first), groupsOf(last)];
	const zeros = Array(GROUPS - groups.length - groupsAtEnd.length).fill("0");
	return `${[...groups, ...zeros, ...groupsAtEnd].slice(0, GROUPS_OF_NETWORK).join(":")}::`;
}

const groupsOf = (text = ""): string[] => text.split(":").filter((group) => group !== "");
