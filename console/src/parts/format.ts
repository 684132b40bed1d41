/** Numbers and times as the console shows them. */

const integers = new Intl.NumberFormat("en");
const precise = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const small = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

export const integer = (value: number): string => integers.format(value);

/** Two decimals; small values keep three digits. */
export const decimal = (value: number): string =>
	value !== 0 && Math.abs(value) < 1 ? small.format(value) : precise.format(value);

/** The price of Workers AI: $0.011 per 1,000 neurons. */
const USD_PER_NEURON = 0.011 / 1_000;

export const dollarsOf = (neurons: number): number => neurons * USD_PER_NEURON;

/** `$0.0042` */
export const dollars = (value: number): string => `$${decimal(value)}`;

/** Without decimals from 10 on. */
export const rate = (value: number): string => (value < 10 ? decimal(value) : integer(Math.round(value)));

export const milliseconds = (value: number): string =>
	value < 1_000 ? `${Math.round(value)} ms` : `${precise.format(value / 1_000)} s`;

const UNITS = ["B", "KB", "MB", "GB"] as const;

/** `1.5 MB`, in powers of 1,000. */
export function bytes(value: number): string {
	const power = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, value)) / 3)));
	return `${rate(value / 1_000 ** power)} ${UNITS[power]}`;
}

const DAY_MS = 86_400_000;

/** A UTC day, `2026-11-21`, this many days before today. */
export const dayBefore = (days: number): string =>
	new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10);

const moment = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

/** An instant of the API in the time zone of the browser. */
export const instant = (text: string): string => moment.format(new Date(text));
