import { useEffect, useMemo, useRef } from "react";
import uPlot from "uplot";
import type { UsageRow } from "../api/types.ts";
import { decimal, integer } from "../parts/format.ts";
import "uplot/dist/uPlot.min.css";

const DAY_S = 86_400;
const HEIGHT = 220;
/** Steps of an axis without fractions. */
const WHOLE_STEPS = Array.from({ length: 12 }, (_, power) =>
	[1, 2, 5].map((step) => step * 10 ** power),
).flat();

interface Props {
	days: readonly UsageRow[];
	/** UTC days. */
	from: string;
	to: string;
}

/** Neurons and requests of each day. A screen reader gets the numbers as text. */
export default function UsageChart({ days, from, to }: Props) {
	const element = useRef<HTMLDivElement>(null);
	const data = useMemo(() => dataOf(days, from, to), [days, from, to]);
	useEffect(() => {
		const parent = element.current;
		if (!parent) return;
		const chart = new uPlot(optionsFor(parent), data, parent);
		const resize = new ResizeObserver(() => chart.setSize({ width: parent.clientWidth, height: HEIGHT }));
		resize.observe(parent);
		return () => {
			resize.disconnect();
			chart.destroy();
		};
	}, [data]);
	return (
		<>
			<div ref={element} className="chart" aria-hidden="true" />
			<ul className="hidden">
				{days.map(({ day, neurons, requests }) => (
					<li key={day}>
						{day}: {decimal(neurons)} neurons, {integer(requests)} requests
					</li>
				))}
			</ul>
		</>
	);
}

/** A value for each day: days without requests are 0. */
function dataOf(days: readonly UsageRow[], from: string, to: string): uPlot.AlignedData {
	const byDay = new Map(days.map((row) => [row.day, row]));
	const times: number[] = [];
	for (let time = Date.parse(from) / 1_000; time <= Date.parse(to) / 1_000; time += DAY_S) times.push(time);
	const rows = times.map((time) => byDay.get(new Date(time * 1_000).toISOString().slice(0, 10)));
	return [times, rows.map((row) => row?.neurons ?? 0), rows.map((row) => row?.requests ?? 0)];
}

function optionsFor(parent: HTMLElement): uPlot.Options {
	const style = getComputedStyle(parent);
	const color = (name: string): string => style.getPropertyValue(name);
	const text = style.color;
	const grid = { stroke: color("--color-kumo-line"), width: 1 };
	const axis = { stroke: text, grid, ticks: grid };
	const bars = uPlot.paths.bars?.({ size: [0.6, 40] });
	return {
		width: parent.clientWidth,
		height: HEIGHT,
		tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), "Etc/UTC"),
		scales: { x: { range: (_, min, max) => [min - DAY_S / 2, max + DAY_S / 2] } },
		axes: [
			axis,
			{ ...axis, scale: "y" },
			{ ...axis, scale: "requests", side: 1, grid: { show: false }, incrs: WHOLE_STEPS },
		],
		series: [
			{ value: "{YYYY}-{MM}-{DD}", label: "Day" },
			{
				label: "Neurons",
				stroke: color("--text-color-kumo-brand"),
				fill: color("--text-color-kumo-brand"),
				...(bars && { paths: bars }),
				points: { show: false },
			},
			{ label: "Requests", scale: "requests", stroke: color("--color-kumo-info"), width: 2 },
		],
	};
}
