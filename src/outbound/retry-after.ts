/** How long a server wants to be left alone, from the headers of its refusal. */

const NUMBER = /^\d+(\.\d+)?$/;
const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const TIME = String.raw`(?<hour>\d{2}):(?<minute>\d{2}):(?<second>\d{2})`;
/** The three forms of a date (RFC 9110, 5.6.7), with or without the day of the week. A server may still send the two older ones. */
const DATES = [
	`(?:[a-z]{3}, )?(?<day>\\d{1,2}) (?<month>[a-z]{3}) (?<year>\\d{4}) ${TIME} GMT`,
	`(?:[a-z]{6,9}, )?(?<day>\\d{2})-(?<month>[a-z]{3})-(?<year>\\d{2}) ${TIME} GMT`,
	`(?:[a-z]{3} )?(?<month>[a-z]{3}) (?<day>[ \\d]\\d) ${TIME} (?<year>\\d{4})`,
].map((form) => new RegExp(`^${form}$`, "i"));
const YEARS_AHEAD = 50;

/** Seconds from now on, 0 for a date in the past. From `retry-after-ms` (Azure, OpenAI), or `Retry-After` in seconds or as a date. */
export function retryAfterSeconds(headers: Headers, now: number): number | undefined {
	const ms = headers.get("retry-after-ms")?.trim();
	if (ms && NUMBER.test(ms)) return Number(ms) / 1_000;
	const header = headers.get("retry-after")?.trim() ?? "";
	if (NUMBER.test(header)) return Number(header);
	const date = httpDate(header, now);
	return date === undefined ? undefined : Math.max(0, (date - now) / 1_000);
}

/** Epoch milliseconds. `Date.parse` is no such reader: it takes "-5" for a date, and the oldest form for a local time. */
function httpDate(text: string, now: number): number | undefined {
	for (const form of DATES) {
		const { day, hour, minute, month = "", second, year = "" } = form.exec(text)?.groups ?? {};
		const at = MONTHS.indexOf(month.toLowerCase());
		if (at < 0) continue;
		const date = Date.UTC(fullYear(year, now), at, Number(day), Number(hour), Number(minute), Number(second));
		// A day or an hour that does not exist is one of a later day.
		return new Date(date).getUTCDate() === Number(day) ? date : undefined;
	}
	return undefined;
}

/** A year of two digits that is more than 50 years ahead is the last one in the past. */
function fullYear(year: string, now: number): number {
	if (year.length === 4) return Number(year);
	const current = new Date(now).getUTCFullYear();
	const sameCentury = current - (current % 100) + Number(year);
	return sameCentury > current + YEARS_AHEAD ? sameCentury - 100 : sameCentury;
}
