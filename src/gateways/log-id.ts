/**
 * A UUIDv7 (RFC 9562, section 5.7): ids of logs sort by their time. `now`: epoch milliseconds. `random`: a UUIDv4, whose random bits it
 * takes.
 */
export function logIdOf(now: number, random: string): string {
	const time = Math.floor(now).toString(16).padStart(12, "0");
	return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(15)}`;
}
