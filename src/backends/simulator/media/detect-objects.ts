/**
 * Object detection: the regions that stand out from the picture's border, by colour. A label says what was measured
 * (`red region`), or is what the caller looks for; nobody has checked that it is there.
 */
import type { DetectedObject, DetectObjectsInput, DetectObjectsOutput } from "../../../tasks/images.ts";
import { mix, nameOf, type Rgb } from "./colours.ts";
import { openPicture } from "./picture.ts";
import type { Thumbnail } from "./thumbnail.ts";

/** Cells a side that a picture is judged by. */
const MAX_CELLS = 64;
/** Of 441, the distance from black to white. */
const STANDS_OUT_FROM_DISTANCE = 60;
const GREATEST_DISTANCE = Math.hypot(255, 255, 255);
/** Regions smaller than this share of the picture are specks. */
const LEAST_AREA_SHARE = 0.001;
/** As many as DETR looks for. */
const MOST_OBJECTS = 100;
/** For the whole of a picture whose pixels were not decoded. */
const UNSEEN_SCORE = 0.1;

interface Grid {
	columns: number;
	rows: number;
	colours: Rgb[];
}

interface Region {
	/** In cells, the last ones included. */
	left: number;
	right: number;
	top: number;
	bottom: number;
	cells: number;
	colour: Rgb;
}

export async function detectObjects(input: DetectObjectsInput): Promise<DetectObjectsOutput> {
	const { width, height, thumbnail } = await openPicture(input.image.bytes);
	const most = Math.max(0, Math.min(MOST_OBJECTS, input.max_objects ?? MOST_OBJECTS));
	const objects = thumbnail
		? find(thumbnail, { width, height, target: input.target })
		: [
				{
					label: input.target ?? "image",
					score: UNSEEN_SCORE,
					box: { xmin: 0, ymin: 0, xmax: width, ymax: height },
				},
			];
	return { objects: objects.sort((a, b) => b.score - a.score).slice(0, most), width, height };
}

function find(
	thumbnail: Thumbnail,
	{ width, height, target }: { width: number; height: number; target: string | undefined },
): DetectedObject[] {
	const grid = divide(thumbnail);
	const background = borderColour(grid);
	const least = grid.colours.length * LEAST_AREA_SHARE;
	return regions(grid, background)
		.filter(({ cells }) => cells >= least)
		.map(({ left, right, top, bottom, colour }) => ({
			label: target ?? `${nameOf(colour)} region`,
			score: 0.5 + 0.5 * (distance(colour, background) / GREATEST_DISTANCE),
			box: {
				xmin: Math.floor((left * width) / grid.columns),
				ymin: Math.floor((top * height) / grid.rows),
				xmax: Math.ceil(((right + 1) * width) / grid.columns),
				ymax: Math.ceil(((bottom + 1) * height) / grid.rows),
			},
		}));
}

const distance = (a: Rgb, b: Rgb): number => Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);

/** Averages the picture into cells. */
function divide({ width, height, rgb }: Thumbnail): Grid {
	const columns = Math.min(MAX_CELLS, width);
	const rows = Math.min(MAX_CELLS, height);
	const colours: Rgb[] = [];
	for (let row = 0; row < rows; row++)
		for (let column = 0; column < columns; column++) {
			let sum: Rgb = [0, 0, 0];
			let pixels = 0;
			for (let y = Math.floor((row * height) / rows); y < Math.floor(((row + 1) * height) / rows); y++)
				for (
					let x = Math.floor((column * width) / columns);
					x < Math.floor(((column + 1) * width) / columns);
					x++
				) {
					const at = (y * width + x) * 3;
					sum = [sum[0] + (rgb[at] ?? 0), sum[1] + (rgb[at + 1] ?? 0), sum[2] + (rgb[at + 2] ?? 0)];
					pixels++;
				}
			colours.push([sum[0] / pixels, sum[1] / pixels, sum[2] / pixels]);
		}
	return { columns, rows, colours };
}

/** The median of the outermost cells, channel by channel: an object that touches the border does not move it. */
function borderColour({ columns, rows, colours }: Grid): Rgb {
	const border = colours.filter((_, i) => {
		const column = i % columns;
		const row = Math.floor(i / columns);
		return column === 0 || row === 0 || column === columns - 1 || row === rows - 1;
	});
	const median = (channel: 0 | 1 | 2): number =>
		border.map((colour) => colour[channel]).sort((a, b) => a - b)[border.length >> 1] ?? 0;
	return [median(0), median(1), median(2)];
}

/** Neighbouring cells that stand out, each group once. */
function regions({ columns, rows, colours }: Grid, background: Rgb): Region[] {
	const open = colours.map((colour) => distance(colour, background) >= STANDS_OUT_FROM_DISTANCE);
	const found: Region[] = [];
	for (let start = 0; start < open.length; start++) {
		if (!open[start]) continue;
		open[start] = false;
		const queue = [start];
		const region = { left: columns, right: 0, top: rows, bottom: 0, cells: 0, colour: [0, 0, 0] as Rgb };
		for (const cell of queue) {
			const column = cell % columns;
			const row = Math.floor(cell / columns);
			region.left = Math.min(region.left, column);
			region.right = Math.max(region.right, column);
			region.top = Math.min(region.top, row);
			region.bottom = Math.max(region.bottom, row);
			region.cells++;
			region.colour = mix(region.colour, colours[cell] ?? background, 1 / region.cells);
			const neighbours = [
				...(column > 0 ? [cell - 1] : []),
				...(column < columns - 1 ? [cell + 1] : []),
				...(row > 0 ? [cell - columns] : []),
				...(row < rows - 1 ? [cell + columns] : []),
			];
			for (const next of neighbours) {
				if (!open[next]) continue;
				open[next] = false;
				queue.push(next);
			}
		}
		found.push(region);
	}
	return found;
}
