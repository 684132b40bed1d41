/** The address that a caller probably means by a path without a route. Only for error messages. */
import { BoundedMap } from "../core/bounded-map.ts";
import { misspelledNames } from "../core/did-you-mean.ts";
import { FAILURES } from "../core/errors.ts";

/** Characters. The cost of a comparison grows with the length of the path. */
const MAX_PATH = 300;
/** Clients repeat a few paths, and a search compares a path with all routes. */
const MAX_CACHED = 1_000;

/** Literals, and the expressions of parameters. */
type Route = readonly (string | RegExp)[];

interface Variant {
	segments: readonly string[];
	/** The number of segments before the first one that a route must name. */
	base: number;
}

/** Of a last parameter that takes all further segments. */
const REST = /^/;
const SEGMENT = /\/(?::\w+(?:\{([^{}]*)\})?|([^/]*))/g;

const API = "/client/v4";
const ACCOUNT = "{account}";
const OF_ACCOUNT = /^\/accounts(?:\/([^/]+))?((?:\/.*)?)$/;
/** The product's first version of Vectorize had the same routes without a version. */
const OLDER_VECTORIZE = /^\/vectorize(?:\/v1)?(?=\/indexes)/;
/** What base addresses of clients end with. */
const BASES = /^(?:\/(?:ai|api|openai|run|v1|v1beta)(?=\/))+/;
/** A client appends its route to a base address that ends with it: `/chat/completions/chat/completions`. */
const TWICE = /^(.+)(?:\/v1)?\1$/;

/** `patterns`: Hono's patterns of the routes. A route may differ from the path by its base, by empty segments and by one misspelled segment. */
export function nearAddresses(patterns: readonly string[]): (path: string) => string | undefined {
	const routes = [...new Set(patterns)].filter(hasSimpleParameters).map(routeOf);
	const found = new BoundedMap<string, string>(MAX_CACHED);
	const find = (path: string): string => {
		const variants = variantsOf(path);
		for (const maxSlips of [0, 1])
			for (const variant of variants)
				for (const route of routes) {
					const address = addressOf(variant, route, maxSlips);
					if (address !== undefined && address !== path) return address;
				}
		return "";
	};
	return (path) => (path.length > MAX_PATH ? undefined : found.getOrSet(path, () => find(path)) || undefined);
}

/** The description of a refusal, with the address that is meant. */
export const describeAddress = (address: string | undefined): string | undefined =>
	address && `${FAILURES.noRoute.description}: the address is ${address}`;

/** The expressions of all others have several segments. */
const hasSimpleParameters = (pattern: string): boolean => !pattern.includes("(?:");

const routeOf = (pattern: string): Route =>
	[...pattern.matchAll(SEGMENT)].map(([, expression = "[^/]+", literal]) => {
		if (literal !== undefined) return literal;
		return expression === ".+" ? REST : new RegExp(`^(?:${expression})$`);
	});

const segmentsOf = (path: string): string[] => path.split("/").filter(Boolean);

function variantsOf(path: string): Variant[] {
	const typed = `/${segmentsOf(path.replace("/accounts//", `/accounts/${ACCOUNT}/`)).join("/")}`;
	const local = typed.replace(/^(?:\/client)?(?:\/v4)?(?=\/)/, "");
	const found = OF_ACCOUNT.exec(local);
	const [, account = ACCOUNT, below = local] = found ?? [];
	const ofAccount = `${API}/accounts/${account}`;
	const version = below.includes("/v1beta/") ? "/v1beta" : "/v1";
	const variants: [base: string, rest: string][] = [
		["", typed],
		[API, local],
		[found ? `${ofAccount}/ai${version}` : version, below.replace(BASES, "").replace(TWICE, "$1")],
		[ofAccount, below],
		[`${API}/accounts/${ACCOUNT}`, local.replace(/^\/accounts(?=\/)/, "")],
		[ofAccount, below.replace(OLDER_VECTORIZE, "/vectorize/v2")],
	];
	return variants.map(([base, rest]) => ({
		segments: segmentsOf(base + rest),
		base: segmentsOf(base).length,
	}));
}

function addressOf({ segments, base }: Variant, route: Route, maxSlips: number): string | undefined {
	const fits = segments.length === route.length || (segments.length > route.length && route.at(-1) === REST);
	if (!fits || typeof route[base] !== "string") return undefined;
	const corrected = [...segments];
	let slips = 0;
	for (const [index, expected] of route.entries()) {
		const segment = segments[index] ?? "";
		if (typeof expected !== "string") {
			if (!expected.test(segment)) return undefined;
		} else if (segment !== expected) {
			slips++;
			if (slips > maxSlips || misspelledNames(segment, [expected], (name) => name).length === 0)
				return undefined;
			corrected[index] = expected;
		}
	}
	return `/${corrected.join("/")}`;
}
