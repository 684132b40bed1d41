/**
 * Reads a website: the pages of its sitemaps, of its links, or of both. A redirect, a link and an entry of a sitemap are new places with the
 * same checks: the website's own host, a public address, the patterns, and robots.txt. A page is read again only if it has changed, as far as
 * the server tells by ETag and Last-Modified. The bytes of a page are stored, because its links are needed when it has not changed.
 *
 * Places are read one after the other with a delay of robots.txt, else some at the same time. The object commits each place with its links,
 * so a process that is killed reads at most those again whose answers were under way.
 */
import { BufferHold } from "../../../core/process-counts.ts";
import { PAGE_CALL } from "../../../outbound/limits.ts";
import { PostponedWork } from "../../../storage/queue/work.ts";
import { checksumOf } from "../checksum.ts";
import type { NewPlace, PlaceCounts, PlaceEnd, SourcePlace } from "../durable/place-table.ts";
import { filesOf } from "../records.ts";
import { type FetchedPage, fetchPage, type PageAnswer } from "./fetch-page.ts";
import { isExcluded, isIncluded, isInside, pageAddress } from "./page-address.ts";
import { type PageKind, pageKind } from "./page-kind.ts";
import { linksOf } from "./page-links.ts";
import { ROBOTS_BYTES, type Robots, robotsOf } from "./robots.ts";
import { SITEMAP_BYTES, sitemapOf } from "./sitemap.ts";
import {
	JobEnded,
	putItems,
	readingOf,
	type SourceCalls,
	SourceFailure,
	type SourceRun,
} from "./source-run.ts";

/** At the same time. */
const LANES = 4;
/** Of one run: other items of the queue wait for it. */
const RUN_MS = 20_000;
/** A longer delay does not hold a place in the queue. */
const MAX_WAIT_MS = 2_000;
/** Until the process has memory again. */
const BUSY_MS = 2_000;
const MAX_TRIES = 3;
/** Of a job. */
const MAX_JOB_MS = 24 * 3_600_000;
const MAX_SITEMAP_DEPTH = 3;

export async function readWebsite(run: SourceRun, startedAt: number): Promise<void> {
	await new WebsiteRun(run).read(startedAt);
}

class WebsiteRun {
	readonly #run: SourceRun;
	readonly #reading: SourceCalls;
	readonly #fetch: typeof fetch;
	readonly #limit: number;
	/** By origin. */
	readonly #robots = new Map<string, Promise<Robots>>();
	/** Of the last answer that has asked for a pause. */
	#retryAfterMs = 0;

	constructor(run: SourceRun) {
		const { services, source } = run;
		const { sources } = services.searchInstances;
		this.#run = run;
		this.#reading = readingOf(run);
		this.#fetch = (!sources.allowPrivateAddresses && services.publicFetch) || services.fetch;
		this.#limit = Math.min(source.source_params.web_crawler.discover_options.limit, sources.maxPages);
	}

	get #crawl() {
		return this.#run.source.source_params.web_crawler;
	}

	get #hasLinks(): boolean {
		const { discover_options, parse_type } = this.#crawl;
		return parse_type === "discover" && discover_options.source !== "sitemaps";
	}

	/** Throws `SourceFailure`, `JobEnded` and `PostponedWork`. */
	async read(startedAt: number): Promise<void> {
		const { job, progress, services, signal } = this.#run;
		const { now } = services;
		const runUntil = now() + RUN_MS;
		const { delayMs } = await this.#begin();
		for (;;) {
			signal.throwIfAborted();
			const next = await this.#reading.next(job, delayMs > 0 ? 1 : LANES);
			if (!next) throw new JobEnded();
			progress(next.counts);
			const { places } = next;
			if (places.length === 0) return this.#requirePages(next.counts);
			if (now() - startedAt > MAX_JOB_MS) throw new SourceFailure("timeout_error");
			await Promise.all(places.map((place) => this.#readPlace(place)));
			const pauseMs = Math.max(delayMs, this.#retryAfterMs);
			if (pauseMs > MAX_WAIT_MS || now() > runUntil) throw new PostponedWork(pauseMs);
			if (pauseMs > 0) await services.wait(pauseMs, signal);
		}
	}

	/** The places at which the website is entered. Returns the rules of its own host. */
	async #begin(): Promise<Robots> {
		const { job, source } = this.#run;
		const robots = await this.#robotsOf(source.source);
		const next = await this.#reading.next(job, 1);
		if (!next) throw new JobEnded();
		if (Object.values(next.counts).some((count) => count > 0)) return robots;
		const { discover_options, parse_options, parse_type } = this.#crawl;
		const places: NewPlace[] = [];
		if (this.#hasLinks) places.push({ place: source.source, kind: "page", depth: 0 });
		if (parse_type === "sitemap" || discover_options.source !== "links") {
			const named = parse_options.specific_sitemaps ?? robots.sitemaps;
			const sitemaps = named.length > 0 ? named : [new URL("/sitemap.xml", source.source).href];
			places.push(...this.#places(sitemaps, { kind: "sitemap", depth: 0 }));
		}
		await this.#reading.add(job, places, this.#limit);
		return robots;
	}

	/** Nothing of the website could be read: the items stay as they are. */
	#requirePages({ closed, failed, gone, passed, read }: PlaceCounts): void {
		if (read + passed > 0) return;
		if (closed > 0) throw new SourceFailure("forbidden_robots_txt");
		if (!this.#hasLinks && gone + failed > 0) throw new SourceFailure("missing_sitemap");
		throw new SourceFailure("The website could not be read");
	}

	#places(addresses: readonly string[], { depth, kind }: Pick<NewPlace, "kind" | "depth">): NewPlace[] {
		const { services, source } = this.#run;
		return addresses.flatMap((sent) => {
			const place = pageAddress(sent, source.source);
			const isOpen =
				place !== undefined &&
				isInside(place, source, services.searchInstances.sources) &&
				(kind === "sitemap" || !isExcluded(place, source));
			return isOpen ? [{ place, kind, depth }] : [];
		});
	}

	async #robotsOf(address: string): Promise<Robots> {
		const { origin } = new URL(address);
		const known = this.#robots.get(origin) ?? this.#readRobots(origin);
		this.#robots.set(origin, known);
		return known;
	}

	async #readRobots(origin: string): Promise<Robots> {
		const url = `${origin}/robots.txt`;
		const robots = robotsOf(url, await this.#call({ url, maxBytes: ROBOTS_BYTES }));
		if (robots) return robots;
		throw new SourceFailure("robots.txt cannot be read");
	}

	#call(request: Parameters<typeof fetchPage>[0]): Promise<PageAnswer> {
		const { services, signal } = this.#run;
		return fetchPage(request, { fetch: this.#fetch, now: services.now, signal });
	}

	async #readPlace(place: SourcePlace): Promise<void> {
		const { instance, job, services, signal } = this.#run;
		const hold = new BufferHold(instance.account).releaseOn(signal);
		if (!hold.tryGrow(maxBytesOf(place))) throw new PostponedWork(BUSY_MS);
		const { end, links } = await this.#readOne(place).finally(() => hold.release());
		await this.#reading.end(job, [{ ...end, place: place.place }], {
			links,
			limit: this.#limit,
			now: services.now(),
		});
	}

	async #readOne(place: SourcePlace): Promise<{ end: Omit<PlaceEnd, "place">; links: NewPlace[] }> {
		const { now } = this.#run.services;
		const { depth, etag, kind, lastModified, place: url, readAt, tries } = place;
		// The configuration may have changed since the place was found.
		if (this.#places([url], place).length === 0 || !(await this.#robotsOf(url)).allows(url))
			return { end: { state: "closed", error: "robots.txt or the configuration excludes it" }, links: [] };
		const { max_age: maxAge } = this.#crawl.discover_options;
		const isFresh = kind === "page" && place.item !== undefined && now() - (readAt ?? 0) < maxAge * 1_000;
		const conditions = place.item === undefined ? {} : { etag, lastModified };
		const maxBytes = maxBytesOf(place);
		const answer: PageAnswer = isFresh
			? { kind: "unchanged" }
			: await this.#call({ url, maxBytes, ...conditions });
		switch (answer.kind) {
			case "gone":
				return { end: { state: "gone", error: "the server answered that there is no such page" }, links: [] };
			case "redirect": {
				const target = pageAddress(answer.location, url);
				const links = target === undefined ? [] : this.#places([target], { kind, depth });
				const error = "redirects to an address outside of the source";
				return { end: { state: "gone", ...(links.length === 0 && { error }) }, links };
			}
			case "refused": {
				const { reason, retryAfterMs } = answer;
				if (retryAfterMs === undefined) return { end: { state: "gone", error: reason }, links: [] };
				if (tries + 1 < MAX_TRIES) {
					this.#retryAfterMs = Math.max(this.#retryAfterMs, retryAfterMs);
					return { end: { state: "waiting" }, links: [] };
				}
				return { end: { state: "failed", error: reason }, links: await this.#storedLinks(place) };
			}
			case "unchanged":
				return { end: { state: "read" }, links: await this.#storedLinks(place) };
			case "page":
				return kind === "sitemap" ? this.#readSitemap(answer, place) : this.#readPage(answer, place);
			default:
				return answer satisfies never;
		}
	}

	async #readSitemap(
		page: FetchedPage,
		{ depth }: SourcePlace,
	): Promise<{ end: Omit<PlaceEnd, "place">; links: NewPlace[] }> {
		const sitemap = await sitemapOf(page.bytes);
		if (!sitemap) return { end: { state: "failed", error: "is no sitemap, or too large" }, links: [] };
		const { addresses, isIndex } = sitemap;
		const isTooDeep = isIndex && depth + 1 >= MAX_SITEMAP_DEPTH;
		const links = isTooDeep
			? []
			: this.#places(addresses, isIndex ? { kind: "sitemap", depth: depth + 1 } : { kind: "page", depth: 0 });
		return { end: { state: "read" }, links };
	}

	async #readPage(
		page: FetchedPage,
		place: SourcePlace,
	): Promise<{ end: Omit<PlaceEnd, "place">; links: NewPlace[] }> {
		const { services, source } = this.#run;
		const { place: url } = place;
		const { etag, lastModified } = page;
		const kind = pageKind(page, url);
		if (!kind) return { end: { state: "gone", error: "unsupported_type" }, links: [] };
		const { isNoindex, links } = await this.#linksIn(page.bytes, { kind, place, robots: page.robots });
		const version = { etag, lastModified, readAt: services.now() };
		if (isNoindex || !isIncluded(url, source)) return { end: { state: "passed" }, links };
		const checksum = await checksumOf(page.bytes);
		if (!(await this.#isSame(url, checksum, version.readAt)))
			await putItems(
				[
					{
						...{ place: url, key: url, contentType: kind.contentType, size: 0, bytes: page.bytes, checksum },
						...{ fileName: kind.fileName, metadata: {} },
					},
				],
				this.#run,
			);
		return { end: { state: "read", version }, links };
	}

	async #isSame(place: string, checksum: string, now: number): Promise<boolean> {
		const [isSame] = await this.#reading.same([{ place, key: place, checksum }], now);
		return isSame === true;
	}

	async #linksIn(
		bytes: Uint8Array,
		{ kind, place, robots }: { kind: PageKind; place: SourcePlace; robots: string },
	): Promise<{ isNoindex: boolean; links: NewPlace[] }> {
		if (!kind.isHtml) return { isNoindex: /\b(?:noindex|none)\b/i.test(robots), links: [] };
		const { isNoindex, links } = await linksOf(bytes, { url: place.place, robots });
		const isFollowed = this.#hasLinks && place.depth < this.#crawl.discover_options.depth;
		return {
			isNoindex,
			links: isFollowed ? this.#places(links, { kind: "page", depth: place.depth + 1 }) : [],
		};
	}

	/** Those of the version that is stored. */
	async #storedLinks(place: SourcePlace): Promise<NewPlace[]> {
		const { instance, services } = this.#run;
		const { item: id } = place;
		if (id === undefined || !this.#hasLinks) return [];
		const item = await instance.call((object) => object.item(id));
		const { account, record } = instance;
		const blob =
			item?.content && (await services.storage.blobs(account).get(filesOf(record.object) + item.content));
		if (!item || !blob) return [];
		const bytes = new Uint8Array(await new Response(blob.body).arrayBuffer());
		const kind = pageKind({ bytes, contentType: item.contentType }, place.place);
		return kind ? (await this.#linksIn(bytes, { kind, place, robots: "" })).links : [];
	}
}

const maxBytesOf = ({ kind }: SourcePlace): number =>
	kind === "sitemap" ? SITEMAP_BYTES : PAGE_CALL.maxBytes;
