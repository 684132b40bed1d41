import { useEffect, useMemo, useRef } from "react";
import uPlot from "uplot";
import type { UsageRow } from "../api/types.ts";
import type { Chart } from "./charts.ts";
import "uplot/dist/uPlot.min.css";

const DAY_S = 86_400;
const STEPS_DAYS = [1, 2, 5, 7, 14, 30, 60, 120, 360];
/** Sizes in CSS pixels. */
const HEIGHT = 220;
const AXIS_WIDTH = 64;
const DAY_WIDTH = 64;
/** The axis ends above the highest bar. */
const HEADROOM = 1.1;

interface Props {
	days: readonly UsageRow[];
	chart: Chart;
	/** UTC days. */
	from: string;
	to: string;
}

/** A bar for each day. A screen reader gets the values as text. */
export default function UsageChart({ days, chart, from, to }: Props) {
	const element = useRef<HTMLDivElement>(null);
	const data = useMemo(() => dataOf({ days, chart, from, to }), [days, chart, from, to]);
	useEffect(() => {
		const parent = element.current;
		if (!parent) return;
		const draw = (): uPlot => new uPlot(optionsFor(parent, chart), data, parent);
		let plot = draw();
		const resize = new ResizeObserver(() => plot.setSize({ width: parent.clientWidth, height: HEIGHT }));
		resize.observe(parent);
		// A canvas keeps the colours of the mode in which it was drawn.
		const mode = new MutationObserver(() => {
			plot.destroy();
			plot = draw();
		});
		mode.observe(document.documentElement, { attributeFilter: ["data-mode"] });
		return () => {
			mode.disconnect();
			resize.disconnect();
			plot.destroy();
		};
	}, [data, chart]);
	return (
		<>
			<div ref={element} className="chart" aria-hidden="true" />
			<ul className="hidden">
				{days.map((row) => {
					const value = chart.value(row);
					return value !== null && <li key={row.day}>{`${row.day}: ${chart.format(value)}`}</li>;
				})}
			</ul>
		</>
	);
}

/** A value for each day. `null` draws no bar: a bar of 0 would be a line. */
function dataOf({ days, chart, from, to }: Props): uPlot.AlignedData {
	const byDay = new Map(days.map((row) => [row.day, row]));
	const times: number[] = [];
	for (let time = Date.parse(from) / 1_000; time <= Date.parse(to) / 1_000; time += DAY_S) times.push(time);
	const rows = times.map((time) => byDay.get(new Date(time * 1_000).toISOString().slice(0, 10)));
	return [times, rows.map((row) => (row && chart.value(row)) || null)];
}

const dayFormat = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
const formatDay = (seconds: number): string => dayFormat.format(new Date(seconds * 1_000));

function optionsFor(parent: HTMLElement, { title, format }: Chart): uPlot.Options {
	const style = getComputedStyle(parent);
	const color = (name: string): string => style.getPropertyValue(name);
	const axis = {
		stroke: color("--text-color-kumo-subtle"),
		font: `12px ${style.fontFamily}`,
		ticks: { show: false },
	};
	const bars = uPlot.paths.bars?.({ size: [0.6, 40], radius: 0.15 });
	const brand = color("--text-color-kumo-brand");
	return {
		width: parent.clientWidth,
		height: HEIGHT,
		tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), "Etc/UTC"),
		cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
		scales: {
			x: { range: (_, min, max) => [min - DAY_S / 2, max + DAY_S / 2] },
			y: { range: (_, __, max) => [0, (max || 1) * HEADROOM] },
		},
		axes: [
			{
				...axis,
				grid: { show: false },
				space: DAY_WIDTH,
				incrs: STEPS_DAYS.map((days) => days * DAY_S),
				values: (_, times) => times.map(formatDay),
			},
			{
				...axis,
				grid: { stroke: color("--color-kumo-line"), width: 1 },
				size: AXIS_WIDTH,
				values: (_, values) => values.map(format),
			},
		],
		series: [
			{ label: "Day", value: (_, time) => (time === null ? "" : formatDay(time)) },
			{
				label: title,
				value: (_, value) => (value === null ? "" : format(value)),
				stroke: brand,
				fill: brand,
				...(bars && { paths: bars }),
				points: { show: false },
			},
		],
	};
}
