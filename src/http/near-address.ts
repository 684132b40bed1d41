/** The address that a caller probably means by a path without a route. Only for error messages. */
import { misspelledNames } from "../core/did-you-mean.ts";

/** Characters. The cost of a comparison grows with the length of the path. */
const MAX_PATH = 300;

/** A segment of a route's pattern: a literal, or a parameter. */
interface PathSegment {
	literal?: string;
	/** A parameter without it takes any text. */
	expression?: RegExp;
}

interface Route {
	segments: readonly PathSegment[];
	/** The last parameter takes all further segments. */
	takesRest: boolean;
}

interface Variant {
	segments: readonly string[];
	/** The number of segments before the first one that a route must name. */
	base: number;
}

const SEGMENT = /\/(?::\w+(?:\{([^{}]*)\})?|([^/]*))/g;
const REST = ".+";

const ACCOUNT = "{account}";
const API = ["client", "v4"];
const ACCOUNTS = "accounts";
const V1 = "v1";
const V1BETA = "v1beta";
/** What base addresses of clients end with. */
const BASES: readonly string[] = ["ai", "api", "openai", "run", V1, V1BETA];

/** `patterns`: Hono's patterns of the routes. A route may differ from the path by its base, by empty segments and by one misspelled segment. */
export function nearAddresses(patterns: readonly string[]): (path: string) => string | undefined {
	const routes = [...new Set(patterns)].filter(hasSimpleParameters).map(routeOf);
	return (path) => {
		if (path.length > MAX_PATH) return undefined;
		const variants = variantsOf(path);
		for (const maxSlips of [0, 1])
			for (const variant of variants)
				for (const route of routes) {
					const address = addressOf(variant, route, maxSlips);
					if (address !== undefined && address !== path) return address;
				}
		return undefined;
	};
}

/** The expressions of all others have several segments. */
const hasSimpleParameters = (pattern: string): boolean => !pattern.includes("(?:");

function routeOf(pattern: string): Route {
	const found = [...pattern.matchAll(SEGMENT)];
	const segments = found.map(
		([, expression, literal]): PathSegment => ({
			...(literal !== undefined && { literal }),
			...(expression && { expression: new RegExp(`^(?:${expression})$`) }),
		}),
	);
	return { segments, takesRest: found.at(-1)?.[1] === REST };
}

function variantsOf(path: string): Variant[] {
	const typed = path.replace(`/${ACCOUNTS}//`, `/${ACCOUNTS}/${ACCOUNT}/`).split("/").filter(Boolean);
	const local = without(typed, API);
	const hasAccount = local[0] === ACCOUNTS;
	const [account = ACCOUNT, ...below] = hasAccount ? local.slice(1) : [];
	const end = hasAccount ? below : local;
	const ofAccount = [...API, ACCOUNTS, account];
	const route = once(end.slice(end.findIndex((segment) => !BASES.includes(segment))));
	const version = end.includes(V1BETA) ? V1BETA : V1;
	const base = hasAccount ? [...ofAccount, "ai", version] : [version];
	return [
		{ segments: typed, base: 0 },
		{ segments: [...API, ...local], base: API.length },
		{ segments: [...base, ...route], base: base.length },
		{ segments: [...ofAccount, ...end], base: ofAccount.length },
		{ segments: [...API, ACCOUNTS, ACCOUNT, ...local.slice(hasAccount ? 1 : 0)], base: ofAccount.length },
	];
}

/** Without the first segments, as far as they are those of `base`. */
const without = (segments: readonly string[], base: readonly string[]): string[] => {
	const [first] = base;
	if (first === undefined) return [...segments];
	return without(segments[0] === first ? segments.slice(1) : segments, base.slice(1));
};

/** A client appends its route to a base address that ends with it: `chat/completions/chat/completions`. */
function once(route: readonly string[]): string[] {
	const named = route.filter((segment) => segment !== V1);
	const half = named.slice(named.length / 2);
	return named.slice(0, half.length).join("/") === half.join("/") ? half : [...route];
}

function addressOf(
	{ segments: typed, base }: Variant,
	{ segments, takesRest }: Route,
	maxSlips: number,
): string | undefined {
	const fits = takesRest ? typed.length >= segments.length : typed.length === segments.length;
	if (!fits || segments[base]?.literal === undefined) return undefined;
	const corrected = [...typed];
	let slips = 0;
	for (const [index, { literal, expression }] of segments.entries()) {
		const segment = typed[index] ?? "";
		if (segment === literal) continue;
		if (literal === undefined) {
			if (expression?.test(segment) === false) return undefined;
			continue;
		}
		slips++;
		if (slips > maxSlips || misspelledNames(segment, [literal], (name) => name).length === 0)
			return undefined;
		corrected[index] = literal;
	}
	return `/${corrected.join("/")}`;
}
