/** A provider that an account pays. Types only. */
import type { Provider } from "./providers.ts";

/** With the account's own key or at its own address. */
export interface AccountProvider {
	/** The part of its models' ids before the slash. */
	name: string;
	provider: Provider;
	key?: string | undefined;
	/** The name of the backend. Two accounts have different ones. */
	backend: string;
	headers: Record<string, string>;
}
