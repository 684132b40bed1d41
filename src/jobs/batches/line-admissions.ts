/**
 * The admissions of the lines of a run of a batch. A call of the account's object, and its commit, cost more than the admission of one line.
 * Lines may wait: so those that arrive in a short time share a call.
 */
import type { Admission, Admitted } from "../../accounts/admission.ts";
import { settledElsewhere } from "../../core/settled-elsewhere.ts";

/** Of one call, so that it does not block the object for long. */
const MAX_ADMISSIONS = 64;

type AdmitAll = (admissions: readonly Admission[]) => Promise<readonly Admitted[]>;

interface WaitingAdmission {
	admission: Admission;
	result: PromiseWithResolvers<Admitted>;
}

interface LineAdmissionsServices {
	wait(milliseconds: number): Promise<void>;
	/** How long the first admission of a call waits for others. Milliseconds. */
	gatherMs(): number;
}

export class LineAdmissions {
	readonly #services: LineAdmissionsServices;
	#waiting: WaitingAdmission[] = [];

	constructor(services: LineAdmissionsServices) {
		this.#services = services;
	}

	/** Rejects if the call that contains the admission fails. */
	add(admission: Admission, admitAll: AdmitAll): Promise<Admitted> {
		const result = settledElsewhere<Admitted>();
		this.#waiting.push({ admission, result });
		if (this.#waiting.length >= MAX_ADMISSIONS) void this.#call(admitAll);
		else if (this.#waiting.length === 1)
			void this.#services.wait(this.#services.gatherMs()).then(() => this.#call(admitAll));
		return result.promise;
	}

	/** Never rejects: each admission gets the failure. */
	async #call(admitAll: AdmitAll): Promise<void> {
		const called = this.#waiting;
		this.#waiting = [];
		if (called.length === 0) return;
		try {
			const answers = await admitAll(called.map(({ admission }) => admission));
			for (const [index, { result }] of called.entries()) {
				const answer = answers[index];
				if (answer) result.resolve(answer);
				else result.reject(new TypeError("An admission got no answer"));
			}
		} catch (thrown) {
			for (const { result } of called) result.reject(thrown);
		}
	}
}
