/** Which tags end, contain and surround which others, as in the HTML standard. `html-tree.ts` builds the tree by them. */

export type Tags = ReadonlySet<string>;

const tags = (names: string): Tags => new Set(names.trim().split(/\s+/));
const union = (...sets: Tags[]): Tags => new Set(sets.flatMap((set) => [...set]));
const without = (set: Tags, names: string): Tags => {
	const left = tags(names);
	return new Set([...set].filter((name) => !left.has(name)));
};

export const PAGE = tags("html head body");
export const PARAGRAPH = tags("p");
export const TABLE = tags("table");
export const FORM = tags("form");
export const TEMPLATE = tags("template");
export const NONE = tags("");
export const HEADINGS = tags("h1 h2 h3 h4 h5 h6");
export const OPTIONS = tags("option optgroup");
export const VOID = tags(
	"area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr",
);
export const IN_HEAD = tags("base basefont bgsound link meta title noscript noframes style script template");
export const FORMATTING = tags("a b big code em font i nobr s small strike strong tt u");
/** They end an open paragraph. */
export const BLOCKS = union(
	HEADINGS,
	tags(`
		address article aside blockquote center dd details dialog dir div dl dt fieldset figcaption figure footer form header
		hgroup hr li listing main menu nav ol p plaintext pre search section summary table ul xmp`),
);
export const TABLE_PARTS = tags("caption colgroup col tbody thead tfoot tr td th");
export const FOREIGN = tags("svg math");
export const HTML_IN_FOREIGN = tags("foreignobject desc title mi mo mn ms mtext annotation-xml");
/** HTML that ends SVG and MathML. */
export const ENDS_FOREIGN = union(
	HEADINGS,
	tags(`
		b big blockquote body br center code dd div dl dt em embed head hr i img li listing menu meta nobr ol p pre ruby s small
		span strike strong sub sup table tt u ul var`),
);

/** No end tag inside these ends an element outside. */
export const SCOPES = union(HTML_IN_FOREIGN, tags("table td th caption template applet marquee object html"));
export const BUTTON_SCOPES = union(SCOPES, tags("button"));
export const LIST_ITEM_SCOPES = union(SCOPES, tags("ol ul"));
export const TABLE_SCOPES = tags("table template html");
export const CELL_SCOPES = tags("td th caption template html");
/** An end tag of inline content does not end an element around these. */
export const SPECIAL = union(
	BLOCKS,
	SCOPES,
	TABLE_PARTS,
	tags(`
		area base basefont bgsound body br button embed frame frameset head iframe img input keygen link meta noembed noframes
		noscript param script select source style textarea title track wbr`),
);
/** Elements whose end tag may be left out. */
export const IMPLIED = tags("dd dt li optgroup option p rb rp rt rtc");
const AROUND_ITEMS = without(SPECIAL, "address div p");

/** Open elements that a start tag ends, unless they are outside of others. */
export const ENDED_BY: ReadonlyMap<string, readonly [Tags, Tags]> = new Map([
	["li", [tags("li"), AROUND_ITEMS]],
	["dd", [tags("dd dt"), AROUND_ITEMS]],
	["dt", [tags("dd dt"), AROUND_ITEMS]],
	["button", [tags("button"), SCOPES]],
	["optgroup", [tags("optgroup"), SPECIAL]],
	["rt", [tags("rt rp rb"), SPECIAL]],
	["rp", [tags("rt rp rb"), SPECIAL]],
	...["select", "input", "textarea"].map((name) => [name, [tags("select"), SCOPES]] as const),
]);

/** Formatting outside these does not open again inside. */
export const MARKERS = tags("td th caption applet marquee object template");
/** Formatting does not open again for these. */
export const NEVER_FORMATTED = union(
	BLOCKS,
	TABLE_PARTS,
	IN_HEAD,
	tags("frame param source track textarea iframe optgroup rb rp rt rtc"),
);
/** Their content is text. */
export const RAW = tags("script style title textarea xmp iframe noembed noframes plaintext");
/** A newline after these tags is not part of the text. */
export const STARTS_WITH_NEWLINE = tags("pre listing textarea");

/** Parts of a table in which text and most elements stand before the table. */
export const AROUND_CELLS = tags("table tbody thead tfoot tr");
/** Except these. */
export const IN_TABLE = union(TABLE_PARTS, tags("script style template form"));
export const COLUMNS = tags("table colgroup");
export const SECTIONS = tags("table tbody thead tfoot");
