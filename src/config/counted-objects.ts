/** The bindings whose objects are counted (`core/open-objects.ts`): each call of an object is recorded, and refused before it opens one too many. */
import type { OpenObjects } from "../core/open-objects.ts";
import { accountIn } from "../gateways/object-name.ts";
import type { Bindings } from "./bindings.ts";

const ofAccount = (name: string): string => name;

/** The account of an object, by its name. Not here: `ACCOUNT`, whose client counts, and classes with one object for all accounts. */
const ACCOUNTS = {
	GATEWAYS: ofAccount,
	GATEWAY: accountIn,
	RESPONSE_CACHE: accountIn,
	RESPONSE_STORE: ofAccount,
	JOB_STORE: ofAccount,
	BLOBS: ofAccount,
	VECTOR_REGISTRY: ofAccount,
	VECTOR_INDEX: accountIn,
	SEARCH_REGISTRY: ofAccount,
	SEARCH_INSTANCE: accountIn,
} as const satisfies Partial<Record<keyof Bindings, (name: string) => string>>;

type CountedBinding = keyof typeof ACCOUNTS;

export const objectKey = (binding: CountedBinding | "STREAM_RUN", name: string): string =>
	`${binding}/${name}`;

/** `getByName` of each binding throws 3040 (429) if the object may not be opened. */
export const withCountedObjects = <T extends Pick<Bindings, CountedBinding>>(
	bindings: T,
	openObjects: OpenObjects,
): T => ({
	...bindings,
	...Object.fromEntries(
		Object.entries(ACCOUNTS).map(([binding, accountOf]) => {
			const name = binding as CountedBinding;
			return [name, countedNamespace(bindings[name], { name, accountOf, openObjects })];
		}),
	),
});

interface Counting {
	name: CountedBinding;
	accountOf(name: string): string;
	openObjects: OpenObjects;
}

/** The gateway calls these objects by their names only. */
const countedNamespace = (
	namespace: Pick<DurableObjectNamespace, "getByName">,
	{ name: binding, accountOf, openObjects }: Counting,
): Pick<DurableObjectNamespace, "getByName"> => ({
	getByName(name) {
		const call = [objectKey(binding, name), accountOf(name)] as const;
		openObjects.requireCall(...call);
		return countedStub(namespace.getByName(name), () => openObjects.recordCall(...call));
	},
});

/** `onCall`: before each call. */
export const countedStub = <T extends object>(stub: T, onCall: () => void): T =>
	new Proxy(stub, {
		get(target, member) {
			const value: unknown = Reflect.get(target, member);
			if (typeof value !== "function" || typeof member === "symbol") return value;
			return (...parameters: unknown[]) => {
				onCall();
				return Reflect.apply(value, target, parameters);
			};
		},
	});
