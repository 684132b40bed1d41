/** The names of the account's tokens, for the ids that other pages show. */
import { allRows } from "../api/all-rows.ts";
import type { Api } from "../api/client.ts";
import type { Token } from "../api/types.ts";
import { useLoad } from "../api/use-load.ts";
import { useSession } from "../session/session.ts";

/** Names of more tokens are not worth the requests. */
const MAX_PAGES = 4;

type TokenNames = ReadonlyMap<string, string>;
const NO_NAMES: TokenNames = new Map();

const loads = new WeakMap<Api, Promise<TokenNames>>();

async function loadNames(api: Api): Promise<TokenNames> {
	const list = { path: api.account("/tokens"), query: { include_expired: true }, maxPages: MAX_PAGES };
	const tokens = await allRows<Token>(api, list);
	return new Map(tokens.map(({ id, name }) => [id, name]));
}

/** Empty for the session of a token, which may not list tokens. */
export function useTokenNames(): TokenNames {
	const { api, session } = useSession();
	const loaded = useLoad(async () => {
		if (session.access === "account") return NO_NAMES;
		const loading = loads.get(api) ?? loadNames(api);
		loads.set(api, loading);
		return loading;
	}, [api]);
	return loaded.value ?? NO_NAMES;
}

/** `the web shop (0a1b2c3d)`; the id of a token whose name is not known. `null`: the operator. */
export function tokenText(id: string | null, names: TokenNames): string {
	if (id === null) return "operator";
	const name = names.get(id);
	return name === undefined ? id : `${name} (${id.slice(0, 8)})`;
}
