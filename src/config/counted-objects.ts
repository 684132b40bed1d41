/**
 * The bindings of the accounts' objects. Each call of an object is recorded, and refused before it opens one too many
 * (`core/open-objects.ts`), or if the data of its account are deleted (`core/deleted-accounts.ts`). The account records the classes that reports
 * read before their first call (`accounts/used-objects.ts`).
 */
import { UsedObjects, type UsedObjectsServices } from "../accounts/client/used-objects.ts";
import { isReported } from "../accounts/used-objects.ts";
import type { DeletedAccounts } from "../core/deleted-accounts.ts";
import { lateResult } from "../core/late-result.ts";
import type { OpenObjects } from "../core/open-objects.ts";
import type { StreamRuns } from "../gateways/client/stream-runs.ts";
import { accountIn } from "../gateways/object-name.ts";
import type { AppServices, ErasableBinding } from "../surfaces/services.ts";
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

const objectKey = (binding: CountedBinding | "STREAM_RUN", name: string): string => `${binding}/${name}`;

interface ObjectChecks {
	openObjects: OpenObjects;
	/** Absent: the caller is an object of the account. */
	deletedAccounts?: DeletedAccounts;
	/** Absent: the calls delete, or their caller is an object of the account. */
	usedObjects?: UsedObjects;
}

/** `getByName` of each binding throws 3040 (429) if the object may not be opened. */
export const withCountedObjects = <T extends Pick<Bindings, CountedBinding>>(
	bindings: T,
	checks: ObjectChecks,
): T => ({
	...bindings,
	...Object.fromEntries(
		Object.keys(ACCOUNTS).map((binding) => {
			const name = binding as CountedBinding;
			return [name, countedNamespace(name, bindings[name], checks)];
		}),
	),
});

/** Records a call of the object, or throws 3040 (429) if it may not be opened. Returns its account and its {@link objectKey}. */
export function countObject(
	binding: CountedBinding,
	name: string,
	{ openObjects }: Pick<ObjectChecks, "openObjects">,
): Pick<CountedObject, "account" | "key"> {
	const [account, key] = [ACCOUNTS[binding](name), objectKey(binding, name)];
	openObjects.requireCall(key, account);
	return { account, key };
}

/** The gateway calls these objects by their names only. */
const countedNamespace = (
	binding: CountedBinding,
	namespace: Pick<DurableObjectNamespace, "getByName">,
	checks: ObjectChecks,
): Pick<DurableObjectNamespace, "getByName"> => ({
	getByName(name) {
		const object = countObject(binding, name, checks);
		const { usedObjects } = checks;
		return countedStub(namespace.getByName(name), {
			...checks,
			...object,
			...(usedObjects &&
				isReported(binding) && { record: () => usedObjects.record(object.account, binding) }),
		});
	},
});

interface CountedObject extends ObjectChecks {
	account: string;
	/** {@link objectKey} */
	key: string;
	/** Before each call. Returns nothing if the account's use of the class is recorded. */
	record?(): Promise<void> | undefined;
}

/** Checks and records each call. */
const countedStub = <T extends object>(
	stub: T,
	{ account, deletedAccounts, key, openObjects, record }: CountedObject,
): T =>
	new Proxy(stub, {
		get(target, member) {
			const value: unknown = Reflect.get(target, member);
			if (typeof value !== "function" || typeof member === "symbol") return value;
			return (...parameters: unknown[]) => {
				const send = (): object => {
					openObjects.recordCall(key, account);
					return Reflect.apply(value, target, parameters);
				};
				const call = (): object => {
					// A deletion records nothing of the account.
					const recording = deletedAccounts?.has(account) ? undefined : record?.();
					return recording ? lateResult(recording.then(send)) : send();
				};
				return deletedAccounts ? deletedAccounts.call(account, call) : call();
			};
		},
	});

/** The objects of resumable streams, which have ids instead of names. */
export const streamRunObjects = (
	{ GATEWAYS, STREAM_RUN }: Pick<Bindings, "GATEWAYS" | "STREAM_RUN">,
	checks: ObjectChecks,
): Pick<ConstructorParameters<typeof StreamRuns>[0], "namespace" | "object" | "registry"> => ({
	namespace: STREAM_RUN,
	registry: (account) => GATEWAYS.getByName(account),
	object(id, account) {
		const key = objectKey("STREAM_RUN", id.toString());
		checks.openObjects.requireCall(key, account);
		return countedStub(STREAM_RUN.get(id), { ...checks, account, key });
	},
});

/** The classes of {@link ErasableBinding} have this method. */
interface ErasableObject {
	/** `name`: of the object. */
	erase(name: string): Promise<number | undefined>;
}

interface AccountObjects<T> extends Pick<AppServices, "eraseObject"> {
	bindings: T;
	/** For the objects of accounts, whose own calls were checked. */
	ownBindings: T;
	usedObjects: UsedObjects;
}

/** The objects of all accounts. `of`: the client of an account. */
export function accountObjects<T extends Pick<Bindings, CountedBinding>>(
	uncounted: T,
	{ of, ...checks }: Required<Omit<ObjectChecks, "usedObjects">> & Pick<UsedObjectsServices, "of">,
): AccountObjects<T> {
	const usedObjects = new UsedObjects({
		of,
		mayReport: (object, account) => checks.openObjects.mayReport(objectKey(object, account)),
	});
	return {
		bindings: withCountedObjects(uncounted, { ...checks, usedObjects }),
		ownBindings: withCountedObjects(uncounted, { openObjects: checks.openObjects }),
		eraseObject: objectEraser(withCountedObjects(uncounted, checks)),
		usedObjects,
	};
}

const objectEraser =
	(bindings: Pick<Bindings, ErasableBinding>): AppServices["eraseObject"] =>
	(binding, name) => {
		// The runtime's types of results are too deep for the compiler.
		const object = bindings[binding].getByName(name) as unknown as ErasableObject;
		return object.erase(name);
	};
