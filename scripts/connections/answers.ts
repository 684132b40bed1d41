/** The requests of a connection that the runtime has begun, and where their answers end. */
import type { PacedRequest } from "./connection-pace.ts";
import { answerBodyKind, endsConnection, MessageFraming, type MessageHead, statusOf } from "./framing.ts";

interface BegunRequest {
	method: string;
	paced: PacedRequest;
	/** The connection ends after its answer. */
	isLast: boolean;
}

/** A complete answer, with its request. */
export interface EndedAnswer {
	status: number;
	/** Of the request. Absent: the runtime answers without one. */
	paced: PacedRequest | undefined;
	/** The request or the answer ends the connection. */
	isLast: boolean;
}

export class Answers {
	readonly #framing = new MessageFraming((head) => answerBodyKind(head, this.#requests[0]?.method));
	/** Without a complete answer, in their order. */
	readonly #requests: BegunRequest[] = [];

	/** Requests without a complete answer. */
	get unanswered(): number {
		return this.#requests.length;
	}

	/** The head of an answer has arrived, and not its end. */
	get isWithin(): boolean {
		return this.#framing.head !== undefined;
	}

	get isUpgrade(): boolean {
		return this.#framing.kind === "upgrade";
	}

	/** Of the request that the next bytes answer. */
	get paced(): PacedRequest | undefined {
		return this.#requests[0]?.paced;
	}

	begin(head: MessageHead, paced: PacedRequest): void {
		const [method = ""] = head.startLine;
		this.#requests.push({ method, paced, isLast: endsConnection(head) });
	}

	/** Returns the number of bytes that belong to the current answer. */
	push(bytes: Buffer): number {
		return this.#framing.push(bytes);
	}

	/** If the current answer is complete, the next bytes are of another one. The result is no interim answer. */
	next(): EndedAnswer | undefined {
		const { hasEnded, head } = this.#framing;
		if (!hasEnded || !head) return;
		this.#framing.next();
		const status = statusOf(head);
		if (status < 200) return;
		const { paced, isLast = false } = this.#requests.shift() ?? {};
		return { status, paced, isLast: isLast || endsConnection(head) };
	}
}
