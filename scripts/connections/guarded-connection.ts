/**
 * One connection of a caller. Its bytes are forwarded to the runtime's socket unchanged, request by request: the head and the first
 * bytes of a body are held until they are complete, so that a caller who sends slowly uses no connection of the runtime.
 *
 * A caller that ends its side has left, as servers of Node, Go and nginx also assume. The runtime's connection is closed, which cancels the
 * request. The end alone would not, because the runtime accepts a half-open connection.
 *
 * What follows an upgrade request is read when the request is answered: it is frames of a websocket, or another request, and only the answer decides
 * which. A client must wait for the answer (RFC 6455, 4.1). So if the upgrade is refused, the bytes are dropped and the connection ends: a proxy may
 * have let them through as frames, and as a request they would avoid its rules.
 *
 * Between two requests the caller stays connected for longer than the runtime does. A request that the caller sends while the runtime closes would
 * get no answer, so the guard closes the runtime's connection before.
 */
import type { Socket } from "node:net";
import { Answers, type EndedAnswer } from "./answers.ts";
import { BodyRate } from "./body-rate.ts";
import { callerAddress } from "./caller-address.ts";
import type { ConnectionContext } from "./connection-context.ts";
import { ConnectionPace, Reading } from "./connection-pace.ts";
import { FramingError, MessageFraming, type MessageHead, requestBodyKind } from "./framing.ts";
import { Lingering } from "./lingering.ts";
import type { Placed } from "./places.ts";
import { CONTINUE, refusal } from "./refusal.ts";
import { RuntimeSocket } from "./runtime-socket.ts";
import { WebsocketFrames } from "./websocket-frames.ts";

/**
 * A smaller body is complete before the runtime sees its request. A caller who announces a body and sends none would use a connection of the
 * runtime: the gateway reads small bodies before it verifies the token, and that needs a connection too. So it gets 408, also with a wrong token.
 */
const HELD_BODY_BYTES = 16 * 1024;
const NO_BYTES = Buffer.alloc(0);

export class GuardedConnection implements Placed {
	readonly address: string;
	unreadSince: number | undefined;
	readonly #caller: Socket;
	readonly #callerReading: Reading;
	readonly #context: ConnectionContext;
	#runtime: RuntimeSocket | undefined;
	readonly #request = new MessageFraming(requestBodyKind);
	readonly #answers = new Answers();
	readonly #pace: ConnectionPace;
	/** The request is complete enough, and waits for the time of its caller: the bytes after it. */
	#unread: Buffer[] | undefined;
	/** An upgrade request has no answer: the bytes after it. */
	#afterUpgrade: Buffer[] | undefined;
	/** Bytes of a request that is not forwarded yet. */
	#held: Buffer[] = [];
	#isForwarding = false;
	#isTunnel = false;
	/** Of a websocket. */
	#frames: WebsocketFrames | undefined;
	/** The last bytes for the caller are written. */
	#ending: Lingering | undefined;
	#isClosed = false;
	#lastByteAt: number;
	/** When the latest answer was complete. */
	#answeredAt: number | undefined;
	/** When the first byte of the current request arrived. */
	#requestAt: number | undefined;
	readonly #rate = new BodyRate();

	constructor(caller: Socket, context: ConnectionContext) {
		this.#caller = caller;
		this.#context = context;
		this.address = callerAddress(caller.remoteAddress);
		this.#pace = new ConnectionPace(context, this.address);
		this.#callerReading = new Reading(caller);
		this.#lastByteAt = context.now();
		context.places.wait(this);
		caller.on("data", (bytes) => this.#receive(bytes));
		caller.on("drain", () => {
			this.unreadSince = undefined;
			this.#runtime?.reading.goOn("caller");
		});
		for (const event of ["end", "close", "error"]) caller.on(event, () => this.close());
	}

	get isKnown(): boolean {
		return this.#pace.isKnown;
	}

	close(): void {
		if (this.#isClosed) return;
		this.#isClosed = true;
		this.#pace.end();
		this.#frames?.end();
		this.#context.places.release(this);
		this.#caller.destroy();
		this.#runtime?.destroy();
	}

	/** A request that waits for the time of its caller keeps its place, and gets another connection to the runtime when it begins. */
	leaveRuntime(): void {
		this.#runtime?.leave();
		this.#runtime = undefined;
		this.#callerReading.goOn("runtime");
		if (!this.#unread) this.#context.places.waitAgain(this);
	}

	/** Closes the connection if one of its times has passed. Called about once a second. */
	check(): void {
		if (this.#isClosed) return;
		const { now, times } = this.#context;
		const at = now();
		const silentMs = at - this.#lastByteAt;
		// The runtime buffers what the caller of a websocket does not read, and its place is free only when it is closed.
		const isUnread = this.#isTunnel && at - (this.unreadSince ?? at) > times.unreadMs;
		if (silentMs > times.idleMs() || isUnread || this.#frames?.isOver(at)) this.close();
		else if (this.#ending) {
			if (this.#caller.writableFinished && this.#ending.isOver(at)) this.close();
		} else if (this.#isTunnel) return;
		else if (this.#isIdle && this.#runtime && at - (this.#answeredAt ?? at) > times.runtimeIdleMs)
			this.leaveRuntime();
		else if (this.#requestAt === undefined) {
			const limitMs = this.#answeredAt === undefined ? times.firstByteMs : times.keepAliveMs;
			if (this.#isIdle && silentMs > limitMs) this.close();
		} else if (!this.#isForwarding) {
			if (at - this.#requestAt <= times.requestMs) return;
			if (this.#unread) this.#pace.refuse();
			this.refuse(this.#unread ? "full" : "late");
		} else if (this.#rate.isSlow(at) && !this.#caller.isPaused()) this.refuse("late");
	}

	/** The runtime has no request of the connection. */
	get #isIdle(): boolean {
		return this.#answers.unanswered === 0 && !this.#isForwarding;
	}

	#receive(bytes: Buffer): void {
		if (this.#isClosed) return;
		this.#lastByteAt = this.#context.now();
		if (this.#ending) {
			if (this.#ending.drop(bytes.length, this.#lastByteAt)) this.close();
		} else if (this.#frames) {
			if (this.#frames.receive(bytes)) this.close();
		} else if (this.#isTunnel) this.#forward(bytes);
		else this.#receiveRequests(bytes);
	}

	/** The caller is read further, because its end must be seen. Much that comes before the answer to an upgrade request closes the connection. */
	#keep(unread: Buffer[], bytes: Buffer): void {
		unread.push(bytes);
		const size = unread.reduce((sum, { length }) => sum + length, 0);
		if (size <= HELD_BODY_BYTES) return;
		if (unread === this.#afterUpgrade) this.close();
		else this.#callerReading.stop("waiting");
	}

	#receiveRequests(bytes: Buffer): void {
		try {
			let unread = bytes;
			while (unread.length > 0 && !this.#ending && !this.#isClosed && !this.#unread && !this.#afterUpgrade)
				unread = unread.subarray(this.#receivePart(unread));
			const kept = this.#unread ?? this.#afterUpgrade;
			if (kept && unread.length > 0 && !this.#ending) this.#keep(kept, unread);
		} catch (error) {
			if (!(error instanceof FramingError)) throw error;
			this.refuse("malformed", error);
		}
	}

	/** Returns the number of bytes that belong to the current request. */
	#receivePart(bytes: Buffer): number {
		const request = this.#request;
		const hadHead = request.head !== undefined;
		this.#requestAt ??= this.#lastByteAt;
		const taken = request.push(bytes);
		const part = bytes.subarray(0, taken);
		if (this.#isForwarding) {
			this.#rate.add(taken);
			this.#forward(part);
		} else {
			this.#held.push(part);
			const { head } = request;
			// Not within the answer before it.
			const mayContinue = this.#isIdle && !hadHead && !request.hasEnded;
			if (head?.headers.has("expect") && mayContinue) this.#caller.write(CONTINUE);
			if (head && (request.hasEnded || request.bodyBytes >= HELD_BODY_BYTES)) this.#begin(head);
		}
		if (!this.#unread) this.#endRequest();
		return taken;
	}

	#endRequest(): void {
		if (!this.#request.hasEnded) return;
		if (this.#request.head?.headers.has("upgrade") && !this.#ending) this.#afterUpgrade = [];
		this.#request.next();
		this.#isForwarding = false;
		this.#requestAt = undefined;
		this.#waitForRequest();
	}

	/** A connection that has a place keeps it while the request waits, also if it leaves the runtime meanwhile. */
	#begin(head: MessageHead): void {
		this.#pace.read(head);
		if (this.#runtime && !this.#takePlace(head)) return;
		if (this.#isIdle && !this.#caller.writableNeedDrain) this.#chooseWorker(head);
		if (this.#pace.begin(() => this.#beginLater(head))) this.#startForwarding(head);
		else this.#unread = [];
	}

	/** A connection between two requests may change to another worker, if the caller has read the answers of this one. */
	#chooseWorker(head: MessageHead): void {
		if (!this.#pace.chooseWorker(head) || !this.#runtime) return;
		this.#runtime.leave();
		this.#callerReading.clearReasons();
		this.#connect();
	}

	#beginLater(head: MessageHead): void {
		const unread = Buffer.concat(this.#unread ?? []);
		this.#unread = undefined;
		this.#startForwarding(head);
		this.#endRequest();
		this.#callerReading.goOn("waiting");
		this.#receiveRequests(unread);
	}

	#startForwarding(head: MessageHead): void {
		if (!this.#runtime && !this.#takePlace(head)) return;
		this.#answers.begin(head, this.#pace.request);
		this.#isForwarding = true;
		this.#rate.begin(this.#lastByteAt);
		const [first, ...others] = this.#held;
		this.#held = [];
		if (first) this.#forward(others.length === 0 ? first : Buffer.concat([first, ...others]));
	}

	/** Refuses the request if there is no place for it. */
	#takePlace(head: MessageHead): boolean {
		const { places } = this.#context;
		const isSocket = head.headers.has("upgrade");
		const isPlaced = places.take(this, this.#pace.isProbe) && (!isSocket || places.takeSocket(this));
		if (!isPlaced) this.refuse("full");
		else if (!this.#runtime) this.#connect();
		return isPlaced;
	}

	#forward(bytes: Buffer, frames = 0): void {
		this.#pace.passed(bytes.length, this.#callerReading, { frames });
		if (this.#runtime?.write(bytes) === false) this.#callerReading.stop("runtime");
	}

	#connect(): void {
		const runtime = new RuntimeSocket({ allowHalfOpen: true });
		this.#runtime = runtime;
		runtime.on("data", (bytes) => this.#pass(bytes));
		runtime.on("drain", () => this.#callerReading.goOn("runtime"));
		runtime.once("error", () => this.close());
		runtime.once("end", () => this.#endRuntime());
		runtime.connect(this.#pace.target);
	}

	/** A runtime that closes between two requests has closed an idle connection. What the caller sends after that, or has begun, is not lost. */
	#endRuntime(): void {
		if (this.#isIdle && !this.#isTunnel && this.#answeredAt !== undefined) this.leaveRuntime();
		else this.#end();
	}

	/** Passes an answer on. */
	#pass(bytes: Buffer): void {
		this.#lastByteAt = this.#context.now();
		// They do not wait for the time of the caller: the runtime would buffer them.
		if (this.#frames) this.#frames.pass(bytes);
		else {
			this.#write(bytes);
			if (!this.#isTunnel) this.#followAnswers(bytes);
		}
	}

	#followAnswers(bytes: Buffer): void {
		// Those of several answers are of the first one's caller.
		const request = this.#answers.paced;
		if (this.#runtime) this.#pace.passed(bytes.length, this.#runtime.reading, { request });
		try {
			for (let unread = bytes; unread.length > 0 && !this.#isTunnel && !this.#ending; ) {
				unread = unread.subarray(this.#answers.push(unread));
				if (this.#answers.isUpgrade) this.#beginFrames(unread);
				const ended = this.#answers.next();
				if (ended) this.#endAnswer(ended);
			}
		} catch {
			// The bytes are the runtime's: they were passed on, and nothing more is known about them.
			this.#isTunnel = true;
		}
	}

	#write(bytes: Buffer): void {
		if (this.#caller.write(bytes)) return;
		this.unreadSince ??= this.#lastByteAt;
		this.#runtime?.reading.stop("caller");
	}

	/** `bytes`: the first ones after the head of the answer, which are written. */
	#beginFrames(bytes: Buffer): void {
		this.#isTunnel = true;
		const connection = {
			...{ address: this.address, reading: this.#callerReading },
			forward: (bytes: Buffer, frames: number) => this.#forward(bytes, frames),
			write: (bytes: Buffer) => this.#write(bytes),
			end: (frame: Buffer, lingering: Lingering) => this.#end(frame, lingering),
		};
		this.#frames = new WebsocketFrames(this.#context, connection, bytes);
		const early = this.#takeAfterUpgrade();
		if (early.length > 0 && this.#frames.receive(early)) this.close();
	}

	#takeAfterUpgrade(): Buffer {
		if (!this.#afterUpgrade) return NO_BYTES;
		const bytes = Buffer.concat(this.#afterUpgrade);
		this.#afterUpgrade = undefined;
		return bytes;
	}

	#endAnswer({ isLast, paced, status }: EndedAnswer): void {
		this.#answeredAt = this.#context.now();
		if (paced) this.#pace.answered(paced, status);
		// The runtime needs no more of a body that it has answered.
		const isEarly = this.#isForwarding && this.#answers.unanswered === 0;
		const isReserved = this.#isIdle && this.#context.places.isReserved(this);
		// The runtime has had nothing after an upgrade request, so this is its answer.
		const dropped = this.#isIdle ? this.#takeAfterUpgrade() : NO_BYTES;
		if (isEarly || isLast || isReserved || dropped.length > 0) this.#end();
		else this.#waitForRequest();
	}

	/** A request that waits for the time of its caller has the place already. */
	#waitForRequest(): void {
		if (this.#runtime && this.#isIdle && !this.#unread) this.#context.places.idle(this);
	}

	/** Answers in place of the runtime, unless the caller already reads an answer, or has sent no request. Returns whether it answers. */
	refuse(reason: "full" | "late" | "malformed", error?: FramingError): boolean {
		if (this.#ending) return false;
		const answersBefore = this.#answers.unanswered - (this.#isForwarding ? 1 : 0);
		const isBetweenRequests = this.#answeredAt !== undefined && this.#requestAt === undefined;
		const answers = answersBefore === 0 && !this.#answers.isWithin && !isBetweenRequests;
		if (answers) this.#end(refusal(reason, error));
		else this.close();
		return answers;
	}

	#end(last: string | Buffer = "", ending = new Lingering(this.#context.now())): void {
		if (this.#ending) return;
		const { now, places } = this.#context;
		this.#ending = ending;
		// From here on no event tells that the caller has read.
		this.unreadSince ??= now();
		this.#held = [];
		this.#unread = undefined;
		this.#afterUpgrade = undefined;
		this.#pace.end();
		this.#frames?.end();
		this.#runtime?.leave();
		this.#caller.end(last, () => ending.written(now()));
		this.#caller.resume();
		places.end(this);
	}
}
