# SPDX-License-Identifier: GPL-2.0-or-later
"""How the HTML report looks and what its buttons do."""

STYLE = """
:root{--ink:#1c2330;--soft:#5d6778;--line:#dde2ea;--paper:#fff;--back:#f5f7fa;--pass:#1a7f4b;--warn:#9a6700;
--inconc:#8250df;--fail:#c62828;--error:#8b1a6b;--na:#6b7280;--observed:#0b7285}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ef;--soft:#9aa4b5;--line:#333b49;--paper:#1b212b;--back:#12161d;
--pass:#3fb977;--warn:#d9a227;--inconc:#b392f0;--fail:#ff6b6b;--error:#e07bc0;--na:#8b93a1;--observed:#4cc2d3}}
*{box-sizing:border-box}body{margin:0 auto;max-width:1240px;padding:1.5rem;background:var(--back);color:var(--ink);
font:15px/1.5 system-ui,sans-serif}h1{font-size:1.6rem;margin:0 0 .5rem}h2{font-size:1.15rem;margin:0 0 .3rem}
h2 small{font-weight:400;color:var(--soft)}p{margin:.3rem 0}
section,header{background:var(--paper);border:1px solid var(--line);border-radius:10px;padding:1.1rem 1.3rem;
margin-bottom:1.1rem;overflow-x:auto}section>p{color:var(--soft)}
.facts{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;margin:.4rem 0}.facts dt{color:var(--soft)}
.facts dd{margin:0}.tiles{display:flex;flex-wrap:wrap;gap:.6rem;margin-top:.8rem}
.tile{border:1px solid var(--line);border-left:5px solid var(--soft);border-radius:8px;background:none;color:inherit;
padding:.4rem .9rem;font:inherit;cursor:pointer;text-align:left}.tile b{display:block;font-size:1.35rem}
.tile.all{align-self:stretch}.tile[aria-pressed=true]{background:var(--back);outline:2px solid var(--soft)}
.badge{display:inline-block;border:0;border-radius:5px;padding:.05rem .5rem;color:#fff;background:var(--na);
font:600 .78rem/1.6 system-ui,sans-serif;white-space:nowrap}button.badge{cursor:pointer;width:100%}
.tile.pass{border-left-color:var(--pass)}.tile.warn{border-left-color:var(--warn)}.tile.fail{border-left-color:var(--fail)}
.tile.inconc{border-left-color:var(--inconc)}.tile.error{border-left-color:var(--error)}
.badge.pass{background:var(--pass)}.badge.warn{background:var(--warn)}.badge.inconc{background:var(--inconc)}
.badge.fail{background:var(--fail)}.badge.error{background:var(--error)}.badge.observed{background:var(--observed)}
@media(prefers-color-scheme:dark){.badge{color:#10141a}}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.22rem .6rem;
border-bottom:1px solid var(--line);vertical-align:top}
thead th{color:var(--soft);font-weight:600;font-size:.83rem}tbody th{white-space:nowrap}
.matrix td:nth-child(n+4){width:9.2rem}.strength,.none{color:var(--soft);font-size:.83rem}.none{text-align:center}
.number{text-align:right}.warning{color:var(--fail);font-weight:600}
.result{border-bottom:1px solid var(--line)}.result summary{cursor:pointer;padding:.32rem 0}
.result .badge{min-width:4.6rem;text-align:center}.role{float:right;color:var(--soft)}
.body{padding:.3rem 0 1rem 1.2rem;border-left:3px solid var(--line);margin-left:.4rem}
.reason{font-size:1.02rem;font-weight:600}.rule{color:var(--soft);max-width:60rem}.section{opacity:.8}
.where{font-size:.86rem;color:var(--soft)}a{color:inherit}
.packets{font:12.5px/1.5 ui-monospace,Menlo,Consolas,monospace;margin:.6rem 0}
.packets td:nth-child(-n+3){white-space:nowrap}
.packets td:nth-child(-n+2){text-align:right;width:1%}.packets td:nth-child(3){width:1%}
.deciding td{background:color-mix(in srgb,var(--fail) 13%,transparent);font-weight:600}
.comment{color:var(--fail);font-family:system-ui,sans-serif;white-space:pre-wrap}
pre{font:12px/1.45 ui-monospace,Menlo,Consolas,monospace;overflow-x:auto;background:var(--back);padding:.7rem;
border-radius:6px}
@media(max-width:720px){body{padding:.5rem}section,header{padding:.7rem .6rem}
.facts{grid-template-columns:1fr}.facts dd,.result,.reason{overflow-wrap:anywhere}.role{float:none;display:block}
.matrix thead,.packets thead{display:none}
.matrix tr,.packets tr{display:flex;flex-wrap:wrap;gap:.1rem .6rem;border-bottom:1px solid var(--line);padding:.3rem 0}
.matrix th,.matrix td,.packets td{border:0;padding:0;width:auto}.matrix .none{display:none}
.matrix td:nth-child(3){flex-basis:100%}.matrix td:nth-child(n+4){width:auto}
.matrix button::after{content:" " attr(data-role);font-weight:400}
.packets td:nth-child(-n+3){width:auto}.packets td:nth-child(4){flex-basis:100%;overflow-wrap:anywhere}
.body{padding-left:.6rem}}
"""

SCRIPT = """
const rows=[...document.querySelectorAll('.result')],shown=document.getElementById('shown');
function show(test,label){let n=0;for(const row of rows){const on=test(row);row.hidden=!on;n+=on}
shown.textContent=n+' of '+rows.length+(label?', '+label:'')}
for(const tile of document.querySelectorAll('.tile'))tile.onclick=()=>{
for(const other of document.querySelectorAll('.tile'))other.setAttribute('aria-pressed',other===tile);
const v=tile.dataset.verdict;show(row=>!v||row.dataset.verdict===v,v.toUpperCase());
document.getElementById('results').scrollIntoView()};
for(const cell of document.querySelectorAll('button[data-requirement]'))cell.onclick=()=>{
const id=cell.dataset.requirement,role=cell.dataset.role;
show(row=>row.dataset.role===role&&row.dataset.requirements.split(' ').includes(id),id+', '+role);
document.getElementById('results').scrollIntoView()};
show(()=>true,'');
"""
