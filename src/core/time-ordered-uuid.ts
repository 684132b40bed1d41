/**
 * A UUIDv7 (RFC 9562, section 5.7). Such ids sort by their time. Those that are made one after another are beside each other in an index,
 * so that a commit writes fewer pages. `now`: epoch milliseconds. `random`: a UUID, whose random bits it takes.
 */
export function timeOrderedUuid(now: number, random: string): string {
	const time = Math.floor(now).toString(16).padStart(12, "0");
	return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(15)}`;
}
