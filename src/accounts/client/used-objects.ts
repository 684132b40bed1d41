/** An isolate's client of the classes of objects that each account uses: `src/accounts/used-objects.ts`. */
import { BoundedMap } from "../../core/bounded-map.ts";
import type { UsedObjectStore } from "../durable/account-interfaces.ts";
import type { ReportedObject } from "../used-objects.ts";

/** Accounts whose classes an isolate remembers. */
const MAX_ACCOUNTS = 10_000;

export interface UsedObjectsServices {
	of(account: string): UsedObjectStore;
	/** Whether a report may open the account's object of the class: it leaves room for requests. */
	mayReport(object: ReportedObject, account: string): boolean;
}

export class UsedObjects {
	readonly #services: UsedObjectsServices;
	/** An account keeps a class that it uses. */
	readonly #known = new BoundedMap<string, ReadonlySet<ReportedObject>>(MAX_ACCOUNTS);

	constructor(services: UsedObjectsServices) {
		this.#services = services;
	}

	/** Before a call of the account's object of the class. Returns nothing if the class is recorded. */
	record(account: string, object: ReportedObject): Promise<void> | undefined {
		if (this.#known.get(account)?.has(object)) return undefined;
		return this.#record(account, object);
	}

	/** The classes that the account uses. */
	async of(account: string): Promise<ReadonlySet<ReportedObject>> {
		return new Set(await this.#services.of(account).usedObjects());
	}

	/** Whether a report may open the object now. */
	mayReport(account: string, object: ReportedObject): boolean {
		return this.#services.mayReport(object, account);
	}

	/** The data of the account are deleted. */
	forget(account: string): void {
		this.#known.delete(account);
	}

	async #record(account: string, object: ReportedObject): Promise<void> {
		this.#known.set(account, new Set(await this.#services.of(account).useObject(object)));
	}
}
