/** The connections that accounts share. */
import { describe, expect, it } from "vitest";
import {
	type ConnectionPlace,
	ConnectionPlaces,
} from "../../../src/retrieval/vectors/stores/pgvector/places.ts";

const LATER = 1_000_000;

/** All places that the account gets. */
function takeAll(places: ConnectionPlaces, account: string, now = 0): ConnectionPlace[] {
	const taken: ConnectionPlace[] = [];
	for (;;) {
		const place = places.take(account, { since: now, ms: LATER });
		if (!place) return taken;
		taken.push(place);
	}
}
const keep = (places: ConnectionPlaces, place: ConnectionPlace): boolean => {
	const mayKeep = places.mayKeep(place, 0);
	if (mayKeep) place.isKept = true;
	else place.release();
	return mayKeep;
};

describe("the places of a server", () => {
	it("are all for one account while no other one waits, and at most half of them are kept", () => {
		const places = new ConnectionPlaces(10);
		const taken = takeAll(places, "a");
		expect(taken).toHaveLength(10);
		expect(taken.filter((place) => keep(places, place))).toHaveLength(5);
	});

	it("are kept 8 at most for an account, and none of a single one", () => {
		const many = new ConnectionPlaces(100);
		expect(takeAll(many, "a").filter((place) => keep(many, place))).toHaveLength(8);
		const single = new ConnectionPlaces(1);
		expect(takeAll(single, "a").filter((place) => keep(single, place))).toHaveLength(0);
	});

	it("are kept in equal parts by accounts", () => {
		const places = new ConnectionPlaces(8);
		const [a, b] = ["a", "b"].map((account) =>
			Array.from({ length: 4 }, () => places.take(account, { since: 0, ms: LATER }) as ConnectionPlace),
		) as [ConnectionPlace[], ConnectionPlace[]];
		const [first] = b;
		expect(first && keep(places, first)).toBe(true);
		expect(a.filter((place) => keep(places, place))).toHaveLength(2);
	});

	it("go to the account that waits, until it has its part", () => {
		const places = new ConnectionPlaces(4);
		const busy = takeAll(places, "busy");
		expect(takeAll(places, "other")).toHaveLength(0);
		// The part of each is two. The busy account waits, too, so its last two stay.
		expect(busy.slice(0, 3).map((place) => keep(places, place))).toEqual([false, false, true]);
		expect(places.take("busy", { since: 0, ms: LATER })).toBeUndefined();
		expect(takeAll(places, "other")).toHaveLength(2);
	});

	it("of an account that does not ask any more are free for the others", () => {
		const places = new ConnectionPlaces(2);
		const [place] = takeAll(places, "busy");
		expect(takeAll(places, "gone")).toHaveLength(0);
		place?.release();
		expect(places.take("busy", { since: 0, ms: LATER })).toBeUndefined();
		expect(places.take("busy", { since: 2_000, ms: LATER })).toBeDefined();
	});

	it("of a request that the runtime has ended are free after its time", () => {
		const places = new ConnectionPlaces(2);
		takeAll(places, "a");
		expect(takeAll(places, "b", LATER)).toHaveLength(0);
		expect(takeAll(places, "b", LATER + 1)).toHaveLength(2);
	});

	it("are free after that time also if the clock was set back by an hour", () => {
		const places = new ConnectionPlaces(2);
		takeAll(places, "a", 2 * 3_600_000);
		const back = 3_600_000;
		expect(takeAll(places, "b", back)).toHaveLength(0);
		expect(takeAll(places, "b", back + LATER)).toHaveLength(0);
		expect(takeAll(places, "b", back + LATER + 1)).toHaveLength(2);
	});
});
