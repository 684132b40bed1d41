/**
 * The session: a token and an account. The token is kept in this tab alone: in memory, and in `sessionStorage`, which ends
 * with the tab, so that a reload does not sign out. It is never in an address.
 */
import { createContext, useContext } from "react";
import { Api, ApiError, v4 } from "../api/client.ts";
import type { Account } from "../api/types.ts";

/** `open`: the gateway needs no credentials. `operator`: the token is valid for all accounts. */
export type Access = "open" | "operator" | "account";

export interface Session {
	access: Access;
	token?: string | undefined;
	account: string;
	/** For an operator, the accounts that exist. */
	accounts: readonly string[];
}

const STORAGE_KEY = "ganglion-session";
const TOKEN = /^glt_([\w-]{1,64})_[0-9A-Za-z]{43}$/;
/** The first account that a session shows, also if the gateway has none yet: the documentation uses it. */
const DEFAULT_ACCOUNT = "local";
/** The id in the reply of `verify` to the operator. */
const OPERATOR = "operator";

interface Stored {
	token?: string;
	account?: string;
}

/** Opens a session with the token. Throws an `ApiError` if the gateway does not accept it. */
export async function openSession(token: string | undefined, account?: string): Promise<Session> {
	const tokenAccount = token === undefined ? undefined : TOKEN.exec(token)?.[1];
	const api = new Api({ token, account: tokenAccount ?? DEFAULT_ACCOUNT });
	if (token !== undefined && !/^[!-~]+$/.test(token)) throw new ApiError(401, "This text is not a token");
	const { result } = await api.get<{ id: string }>(v4("/user/tokens/verify"));
	if (result.id !== OPERATOR && tokenAccount !== undefined)
		return { access: "account", token, account: tokenAccount, accounts: [] };
	const { result: listed } = await api.get<Account[]>(v4("/accounts"));
	const accounts = listed.map(({ id }) => id);
	return {
		access: token === undefined ? "open" : "operator",
		token,
		account:
			account ?? (accounts.includes(DEFAULT_ACCOUNT) ? DEFAULT_ACCOUNT : accounts[0]) ?? DEFAULT_ACCOUNT,
		accounts,
	};
}

/** The session of this tab before a reload, or that of a gateway without credentials. */
export function resumeSession(): Promise<Session> {
	const { token, account } = stored();
	return openSession(token, account);
}

export const keepSession = ({ token, account }: Session): void =>
	sessionStorage.setItem(STORAGE_KEY, JSON.stringify({ token, account }));

export const forgetSession = (): void => sessionStorage.removeItem(STORAGE_KEY);

function stored(): Stored {
	try {
		return JSON.parse(sessionStorage.getItem(STORAGE_KEY) ?? "{}");
	} catch {
		return {};
	}
}

export interface SessionContext {
	session: Session;
	api: Api;
	setAccount(account: string): void;
	signOut(): void;
}

export const SessionContext = createContext<SessionContext | undefined>(undefined);

export function useSession(): SessionContext {
	const context = useContext(SessionContext);
	if (!context) throw new Error("useSession needs a SessionContext");
	return context;
}
